"""Who serves the queue, and who does not belong to the run."""
