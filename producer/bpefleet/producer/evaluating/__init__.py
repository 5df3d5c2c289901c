"""Tokenizers compared on a corpus: `bpefleet evaluate`."""
