"""Tests that results are the only ones there can be, whoever computes them."""
