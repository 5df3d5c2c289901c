"""Tests of the workers and of what runs them."""
