"""Logs, warnings and text that is shown."""
