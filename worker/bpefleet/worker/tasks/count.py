"""Counting: the first kind of job."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from rq import get_current_job

from bpefleet.kernel.segments import count_segments
from bpefleet.shared.corpus.formats import ROWS
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.corpus.tables.rows import load
from bpefleet.shared.queue.attempt_log import log_segments
from bpefleet.shared.stores.importing import import_for
from bpefleet.shared.wire.messages import CountSpec, MessageError
from bpefleet.worker.chunk.corpus import demand_within_roots, roots
from bpefleet.worker.chunk.count import demand_same_counting
from bpefleet.worker.chunk.exchange import allowed_exchange
from bpefleet.worker.chunk.publish import publish
from bpefleet.worker.chunk.stages import Stages

if TYPE_CHECKING:
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.wire.messages import Counted


def prepare(spec: object) -> None:
    """Before a work-horse is forked, import what each would otherwise import for itself.

    Args:
        spec: What it will be told to do, not checked yet.
    """
    with suppress(MessageError):
        segments = CountSpec.from_json(spec).segments
        if formats := {part.format for part in segments if part.format in ROWS}:
            load(formats)
        for part in segments[:1]:
            import_for(part.path)


def count_chunk(run: str, chunk: int, spec: CountSpec) -> Counted:
    """Count the pre-tokens of one chunk and leave them in Redis for the aggregator.

    Args:
        run: The run's id.
        chunk: The chunk's index.
        spec: What to count and how.

    Raises:
        ForbiddenPathError: A source is outside this worker's corpus roots, or the exchange is none
            of its own.
        UsageError: This worker would count differently from what the producer expects, or does
            not know a format.
        SourceError: A source cannot be read, changed, or holds invalid text.
        StoreError: The exchange fails.
    """
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, chunk)
    log_segments(stages.log, spec.segments)
    demand_within_roots(spec.segments)
    demand_same_counting(spec)
    exchange = allowed_exchange(spec.exchange, run) if spec.exchange else None
    with stages.stage("count"):
        counts, tally = count_spec(spec, count_segments, roots())
    return publish(
        job,
        run,
        chunk,
        digest=spec.digest,
        counts=counts,
        tally=tally,
        stages=stages,
        exchange=exchange,
    )
