"""What people are shown of a run: `status`, the page, a worker's cells."""
