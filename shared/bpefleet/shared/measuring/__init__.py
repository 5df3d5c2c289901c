"""Tokenizers measured on text: sums that add up, and the figures made of them."""
