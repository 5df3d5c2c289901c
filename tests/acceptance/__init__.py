"""The command as a person uses it."""
