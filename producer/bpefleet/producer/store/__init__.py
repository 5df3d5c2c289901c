"""The run directory, which is the truth: plan, ledger, history, requests to stop."""
