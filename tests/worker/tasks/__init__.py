"""The tasks, one module a kind of job."""
