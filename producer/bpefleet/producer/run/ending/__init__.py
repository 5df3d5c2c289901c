"""What comes of a run: whether all of it was counted, its result, its report."""
