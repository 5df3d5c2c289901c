"""The files that sources name: walked, told apart, each once."""
