"""Leaving a chunk's counts in Redis, and the manifest that says where and what they are."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError

from bpefleet.shared import keys
from bpefleet.shared.errors import SourceError
from bpefleet.shared.memory import peak_rss
from bpefleet.shared.messages import Counted

if TYPE_CHECKING:
    from rq.job import Job

    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.segments import Tally

_FULL_PAUSE: Final = 1.0


def publish(
    job: Job,
    run: str,
    chunk: int,
    *,
    digest: str,
    counts: Counts,
    tally: Tally,
    began: float,
) -> Counted:
    """Put the counts under a key of their own: as an RQ result they would cost five times more.

    Args:
        job: The running job, for its connection and worker.
        run: The run's id.
        chunk: The chunk's index.
        digest: Hex digest of what the counts depend on, to go with them.
        counts: The counts.
        tally: What else was met.
        began: When the job began, by `time.perf_counter`.
    """
    payload = counts.encode(bytes.fromhex(digest))
    if len(payload) > keys.LARGEST_PAYLOAD:
        raise SourceError(
            f"the counts of the chunk take {len(payload):,} bytes, more than the "
            f"{keys.LARGEST_PAYLOAD:,} that Redis can hold in one value",
            hint="start a new run with a smaller --chunk-size",
        )
    key = keys.payload_key(run, chunk, secrets.token_hex(8))
    _put(job, key, payload)
    return Counted(
        key=key,
        sha256=hashlib.sha256(payload).hexdigest(),
        size=len(payload),
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        unique=len(counts),
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        seconds=(seconds := time.perf_counter() - began),
        peak_rss=peak_rss(),
        worker=job.worker_name or "",
        started=(now := time.time()) - seconds,
        ended=now,
    )


def _put(job: Job, key: str, payload: bytes) -> None:
    """Store the payload, waiting for room where Redis is full: the aggregator makes some."""
    while True:
        try:
            job.connection.set(key, payload, ex=keys.PAYLOAD_TTL)
        except OutOfMemoryError:
            time.sleep(_FULL_PAUSE)  # the job's time-out bounds the wait
        else:
            return
