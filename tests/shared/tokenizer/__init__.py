"""Loading, encoding, decoding; forms for other libraries."""
