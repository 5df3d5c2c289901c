"""The fleet's key, and where workers may read."""
