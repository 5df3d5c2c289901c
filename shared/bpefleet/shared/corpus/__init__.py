"""Reading the text of a chunk."""
