"""The counts of finished runs: added up, merged again, written down."""
