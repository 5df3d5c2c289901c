"""Encoding a corpus: shards, their index, and who reads them."""
