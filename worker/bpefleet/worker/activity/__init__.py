"""What the workers of a pool do, as it is logged."""
