"""What producer and workers agree on."""
