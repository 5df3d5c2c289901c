"""Corpora in stores: real servers on loopback, and one that fails."""
