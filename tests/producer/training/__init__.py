"""The trainer: the merge loop in a process of its own, and the artifacts."""
