"""The one job that workers run; `keys.COUNT_CHUNK` is its dotted name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from rq import get_current_job

from bpefleet.kernel.segments import count_segments
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.queue.tail import log_segments
from bpefleet.shared.wire.messages import CountSpec
from bpefleet.worker.corpus import demand_within_roots, roots
from bpefleet.worker.count import demand_same_counting
from bpefleet.worker.publish import publish
from bpefleet.worker.stages import Stages

if TYPE_CHECKING:
    from bpefleet.shared.queue.jobs import FleetJob


def count_chunk(run: str, chunk: int, spec: dict[str, Any]) -> dict[str, Any]:
    """Count the pre-tokens of one chunk and leave them in Redis for the aggregator.

    Args:
        run: The run's id.
        chunk: The chunk's index.
        spec: A `CountSpec` as JSON.

    Returns:
        A `Counted` as JSON.

    Raises:
        MessageError: `spec` is not a `CountSpec`.
        ForbiddenPathError: A source is outside this worker's corpus roots.
        UsageError: This worker would count differently from what the producer expects.
        SourceError: A source cannot be read, changed, or holds invalid text.
    """
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, chunk)
    plan = CountSpec.from_json(spec)
    log_segments(stages.log, plan)
    demand_within_roots(plan)
    demand_same_counting(plan)
    with stages.stage("count"):
        counts, tally = count_spec(plan, count_segments, roots())
    counted = publish(
        job, run, chunk, digest=plan.digest, counts=counts, tally=tally, stages=stages
    )
    return counted.to_json()
