"""The tests; helpers that several share lie directly in this folder."""
