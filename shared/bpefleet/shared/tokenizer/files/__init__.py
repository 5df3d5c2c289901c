"""Tokenizers in the files of others: read and written."""
