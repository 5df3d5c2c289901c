"""Chunks on their way through Redis: queued, taken, ended, abandoned, forgotten."""
