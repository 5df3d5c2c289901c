"""Reads what Redis has of runs and workers, once for all pages."""
