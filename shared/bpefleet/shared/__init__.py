"""What the producer and the workers agree on: errors, messages, keys, patterns, the tokenizer.

Imports nothing else of bpefleet, and does no I/O at import.
"""
