"""Trees of sums, and what an exchange holds."""
