"""What is measured of tokenizers."""
