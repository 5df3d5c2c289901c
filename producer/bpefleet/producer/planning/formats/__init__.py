"""Which format a file has, and what is in it: rows, bytes of text."""
