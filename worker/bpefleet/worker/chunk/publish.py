"""Publishes a chunk's counts, and returns the message that says where they are.

They go to Redis, or to the exchange that the job names.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError

from bpefleet.shared.corpus.reading import encode
from bpefleet.shared.exchange.names import new_name
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Counted
from bpefleet.worker.chunk.exchange import leave

if TYPE_CHECKING:
    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.segments import Tally
    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.worker.chunk.stages import Stages

_FULL_PAUSE: Final = 1.0


def put(job: FleetJob, key: str, payload: bytes) -> None:
    """Store the payload. If Redis is full, wait until the aggregator has removed others."""
    while True:
        try:
            job.connection.set(key, payload, ex=keys.PAYLOAD_TTL)
        except OutOfMemoryError:
            time.sleep(_FULL_PAUSE)  # the job's time-out bounds the wait
        else:
            return


def publish(
    job: FleetJob,
    run: str,
    chunk: int,
    *,
    digest: str,
    counts: Counts,
    tally: Tally,
    stages: Stages,
    exchange: Exchange | None = None,
) -> Counted:
    """Store the counts under their own key: as an RQ result they would take five times as long.

    Args:
        job: The running job, for its connection and worker.
        run: The run's id.
        chunk: The chunk's index.
        digest: Hex digest of what the counts depend on, to go with them.
        counts: The counts.
        tally: What else was found in the text.
        stages: The stages of the attempt so far.
        exchange: Where to leave them in place of Redis.

    Raises:
        SourceError: The counts are more than Redis can hold in one value.
        StoreError: The exchange fails.
    """
    with stages.stage("encode"):
        payload = encode(counts, digest)
        sha256 = job.signer.fingerprint(payload)
    key, file = keys.payload_key(run, chunk, secrets.token_hex(8)), ""
    with stages.stage(keys.PUBLISH):
        if exchange is None:
            put(job, key, payload)
        else:
            key, file = "", new_name(keys.unit(chunk))
            leave(exchange, file, payload, stages)
    now, seconds = time.time(), sum(stages.seconds.values())
    queued = job.enqueued_at.timestamp() if job.enqueued_at else now - seconds
    return Counted(
        key=key,
        sha256=sha256,
        size=len(payload),
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        unique=len(counts),
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        seconds=seconds,
        peak_rss=peak_rss(),
        worker=job.worker_name or "",
        started=now - seconds,
        ended=now,
        queued_seconds=max(0.0, now - seconds - queued),
        read_seconds=tally.read_seconds,
        scan_seconds=stages.seconds["count"] - tally.read_seconds,
        encode_seconds=stages.seconds["encode"],
        publish_seconds=stages.seconds[keys.PUBLISH],
        records=tally.records,
        absent=tally.absent,
        file=file,
    )
