"""A Redis that does not answer, for a moment or for long."""
