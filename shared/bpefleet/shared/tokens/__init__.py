"""Reads what a run of encode jobs wrote: its index, tokens and documents."""
