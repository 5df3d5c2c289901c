"""Connecting, and what is wrong with a Redis."""
