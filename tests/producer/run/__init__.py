"""A run from its sources to its artifacts, and again: resume, retry, cancel, merge."""
