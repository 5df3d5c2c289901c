"""Tests of reading the corpus."""
