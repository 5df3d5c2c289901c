"""Compressed files: where they may be divided, and what they begin with."""
