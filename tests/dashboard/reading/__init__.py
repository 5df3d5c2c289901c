"""What is read of Redis, and made of it."""
