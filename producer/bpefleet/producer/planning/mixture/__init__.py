"""Corpora of several sources: what each is, how much it counts, which of its documents."""
