"""Tokenizers compared on a corpus."""
