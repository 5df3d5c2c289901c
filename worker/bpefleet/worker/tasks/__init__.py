"""What workers run: one module a kind of job, its function named by `kinds.KINDS`."""

from bpefleet.worker.tasks.count import count_chunk
from bpefleet.worker.tasks.reduce import reduce_parts

__all__ = ["count_chunk", "reduce_parts"]
