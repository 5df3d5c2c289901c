"""Counts that lie in an exchange: put together by workers, and brought in at the end."""
