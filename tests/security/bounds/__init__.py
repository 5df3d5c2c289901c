"""What is too large, or takes too long, is refused before it is."""
