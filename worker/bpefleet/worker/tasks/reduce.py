"""Reducing: puts the counts of several chunks together, in an exchange."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from rq import get_current_job

from bpefleet.kernel import Counts, FoldedCounts, PayloadError
from bpefleet.shared.exchange.lost import LostError
from bpefleet.shared.exchange.names import new_name
from bpefleet.shared.exchange.reading import read_part
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Part, Reduced
from bpefleet.worker.chunk.exchange import allowed_exchange
from bpefleet.worker.chunk.stages import Stages

if TYPE_CHECKING:
    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import ReduceSpec


def reduce_parts(run: str, unit: int, spec: ReduceSpec) -> Reduced:
    """Put counts together, and leave the sum beside them.

    Args:
        run: The run's id.
        unit: The number of the sum.
        spec: What to put together.

    Returns:
        Where the sum is; or which parts are damaged, and then there is none.

    Raises:
        ForbiddenPathError: The exchange is none of this worker's.
        StoreError: It fails.
    """
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, unit)
    started = time.time()
    exchange = allowed_exchange(spec.exchange, run)
    with stages.stage("reduce"):
        part, damaged = put_together(exchange, unit, spec, job.signer)
    queued = job.enqueued_at.timestamp() if job.enqueued_at else started
    return Reduced(
        file=part.file,
        sha256=part.sha256,
        size=part.size,
        pretokens=part.pretokens,
        unique=part.unique,
        seconds=stages.seconds["reduce"],
        peak_rss=peak_rss(),
        worker=job.worker_name or "",
        started=started,
        ended=time.time(),
        damaged=damaged,
        queued_seconds=max(0.0, started - queued),
    )


def put_together(
    exchange: Exchange, unit: int, spec: ReduceSpec, signer: Signer
) -> tuple[Part, tuple[int, ...]]:
    """Put counts together in an exchange.

    Returns:
        The sum, of no file if there is none; and the places of the parts that are gone, or are not
        what was said.

    Raises:
        StoreError: The exchange fails.
    """
    payloads, damaged = [], []
    for place, part in enumerate(spec.parts):
        try:
            check = Counts.check_payload
            payloads.append(read_part(exchange, part, spec.digest, signer, check))
        except (LostError, PayloadError):
            damaged.append(place)
    if damaged:
        return Part("", "", 0, 0, 0, 0), tuple(damaged)
    folded = FoldedCounts(payloads, bytes.fromhex(spec.digest))
    payload, file = folded.payload, new_name(keys.unit(unit, keys.REDUCE))
    exchange.put(file, payload)
    made = Part(
        file=file,
        sha256=signer.fingerprint(payload),
        size=len(payload),
        pretokens=folded.pretokens,
        unique=len(folded),
        text=sum(part.text for part in spec.parts),
    )
    return made, ()
