"""What workers run: one module a kind of job, its function named by `kinds.KINDS`."""

from bpefleet.worker.tasks.count import count_chunk

__all__ = ["count_chunk"]
