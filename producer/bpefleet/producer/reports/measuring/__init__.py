"""Tokenizers measured on a sample of the corpus."""
