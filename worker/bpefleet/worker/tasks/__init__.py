"""What workers run: one module a kind of job, its function named by `kinds.KINDS`."""

from typing import Final

from bpefleet.shared.wire.kinds import COUNT, ENCODE
from bpefleet.worker.tasks import count, encode
from bpefleet.worker.tasks.count import count_chunk
from bpefleet.worker.tasks.encode import encode_chunk
from bpefleet.worker.tasks.evaluate import evaluate_chunk
from bpefleet.worker.tasks.reduce import reduce_parts

__all__ = ["PREPARE", "count_chunk", "encode_chunk", "evaluate_chunk", "reduce_parts"]

PREPARE: Final = {COUNT.task: count.prepare, ENCODE.task: encode.prepare}
"""By the task of a kind: what to do before a work-horse is forked."""
