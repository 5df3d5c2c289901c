"""A user's regex in the syntax of another engine."""
