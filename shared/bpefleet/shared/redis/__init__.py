"""Connecting to Redis, and saying why one cannot be used."""
