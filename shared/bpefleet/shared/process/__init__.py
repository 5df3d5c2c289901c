"""What every program of ours does: command line, logs, its machine, its parent."""
