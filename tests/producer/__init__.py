"""The producer's parts, each by itself."""
