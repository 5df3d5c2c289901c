"""Messages, and the keys of Redis."""
