"""What a run has of its chunks already: counts, sums in an exchange, encoded pieces."""
