"""The counts of runs: added up, merged again, written as a table."""
