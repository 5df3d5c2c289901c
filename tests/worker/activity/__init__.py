"""What a pool says of its work."""
