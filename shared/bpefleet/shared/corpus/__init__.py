"""Reading the text of a chunk, and where text may be cut."""
