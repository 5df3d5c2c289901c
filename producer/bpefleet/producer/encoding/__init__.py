"""Puts the pieces of encode jobs together: shards in the corpus's order, and their index."""
