"""Every Redis key and name of bpefleet's own, in one place.

RQ keeps its own keys under `rq:`; ours all start with `bpefleet:`.

`bpefleet:events:<run>`
    Stream. Written by workers, in the MULTI that records a job's end; read by the aggregator.
    Trimmed as chunks are folded, deleted at the run's end, else expires after `EVENTS_TTL`.

`bpefleet:payload:<run>:<unit>:<token>`
    String. Written by a worker before its job ends; read by the aggregator. Deleted once folded,
    else expires after `PAYLOAD_TTL`.

`bpefleet:status:<run>`
    String, JSON. Written by the producer about once a second while it counts; read by `bpefleet
    status`. Expires `STATUS_TTL` after the last time.

`bpefleet:detail:<run>`
    String, JSON. Beside the status, for the page: map of chunks, time series, workers, timings.

`bpefleet:report:<run>`
    String, HTML of at most `LARGEST_REPORT` bytes. Written by the producer when a report is asked
    for, in one MULTI with the status; read by the page, which shows it in a sandbox. Expires after
    `STATUS_TTL`.

`bpefleet:runs`
    Sorted set of run ids by the time of their last status. Written by producers, who also remove
    what is older than `STATUS_TTL`.

`bpefleet:control:<run>`
    List of signed requests to the producer: retry, cancel. Written by the page, taken by the
    producer. Expires after `CONTROL_TTL`.

`bpefleet:check:<token>`
    String. Written by whoever connects, to see that Redis takes writes. Expires in a second.

`bpefleet:abandoned`
    String. The lock of the producer that looks for abandoned jobs. Deleted after use, else
    expires after `ABANDONED_LOCK_TTL`.

Redis is disposable: what it holds can be made again from the run directory.
"""

from __future__ import annotations

import re
from typing import Final

QUEUE: Final = "bpefleet"
"""The one RQ queue. Workers serve a single queue: RQ loses jobs popped from several."""

FLEET_WORKER: Final = "bpefleet"
"""Field of a worker's hash in Redis that ours have, with their version."""

KEY_FIELD: Final = "key"
"""Field of the hash of a worker, or of a job, with the id of the key that it has or is signed with
(`Signer.key_id`). Anyone could have written it: it explains, and nothing is allowed for it."""

REFUSED_FIELD: Final = "refused"
"""Field of a failed job's hash with the key id of the worker that refused it for having another."""

STAGE_FIELD: Final = "stage"
"""Field of a running job's hash that tells what its work-horse is at."""

PUBLISH: Final = "publish"
"""The stage in which a work-horse leaves counts: in Redis, or in an exchange."""

LOG_FIELD: Final = "log"
"""Field of a running job's hash with the last lines of its log, as of the stage's beginning."""

COUNT: Final = "count"
"""The name of the first kind of job, which ids and keys leave out."""

REDUCE: Final = "reduce"
"""The name of the kind that puts counts together."""

_UNIT: Final = re.compile(rf"(?!{COUNT}[0-9])([a-z]*)(0|[1-9][0-9]{{0,17}})")
"""So that each unit has one spelling."""

PAYLOAD_TTL: Final = 24 * 3600
"""Seconds that an unclaimed payload stays: longer than any producer's absence worth serving."""

LARGEST_PAYLOAD: Final = 512 << 20
"""Bytes of a payload: what Redis can hold in one value, and some fifty million pre-tokens."""

EVENTS_TTL: Final = 7 * 24 * 3600
"""Seconds that an abandoned run's event stream stays."""

STATUS_TTL: Final = 24 * 3600
"""Seconds that the last status of a run stays."""

LARGEST_REPORT: Final = 2 << 20
"""Bytes of a report that the page shows."""

RUNS: Final = "bpefleet:runs"
"""The runs that have a status."""

CONTROL_TTL: Final = 600
"""Seconds that a request nobody took stays."""

ABANDONED_LOCK: Final = "bpefleet:abandoned"
"""Held while abandoned jobs are queued again: two producers at it would queue each twice."""

ABANDONED_LOCK_TTL: Final = 30
"""Seconds after which that lock frees itself, should its holder die."""


def events_key(run: str) -> str:
    """The stream of a run's completion events."""
    return f"bpefleet:events:{run}"


def payload_key(run: str, chunk: int, token: str, kind: str = COUNT) -> str:
    """The payload of one attempt at a chunk; `token` keeps attempts apart."""
    return payload_prefix(run, chunk, kind) + token


def payload_prefix(run: str, chunk: int, kind: str = COUNT) -> str:
    """What the keys of all payloads of a chunk begin with, of one kind of job."""
    return f"bpefleet:payload:{run}:{unit(chunk, kind)}:"


def payload_keys(run: str) -> str:
    """A pattern that matches all payloads of a run: its name has no character that SCAN reads."""
    return f"bpefleet:payload:{run}:*"


def status_key(run: str) -> str:
    """The latest snapshot of a run."""
    return f"bpefleet:status:{run}"


def detail_key(run: str) -> str:
    """What a page shows of a run beside its status."""
    return f"bpefleet:detail:{run}"


def report_key(run: str) -> str:
    """The report of a finished run, as HTML."""
    return f"bpefleet:report:{run}"


def control_key(run: str) -> str:
    """Requests to the producer of a run."""
    return f"bpefleet:control:{run}"


def check_key(token: str) -> str:
    """A key written once to see whether Redis takes writes."""
    return f"bpefleet:check:{token}"


def unit(chunk: int, kind: str = COUNT) -> str:
    """One kind of job on one chunk, in ids, keys and events: `7` for counting, else `lines7`."""
    return f"{'' if kind == COUNT else kind}{chunk}"


def chunk_and_kind(text: str) -> tuple[int, str] | None:
    """The chunk and the kind of job that `unit` made this of; None for a text of other origin."""
    found = _UNIT.fullmatch(text)
    return (int(found[2]), found[1] or COUNT) if found else None


def job_id(run: str, chunk: int, kind: str = COUNT) -> str:
    """The RQ job id of a chunk: letters, digits, `-` and `_` only, as RQ demands."""
    return f"{run}-{unit(chunk, kind)}"


def read_job_id(job_id: str) -> tuple[str, int, str] | None:
    """The run, chunk and kind that `job_id` made this id of; None for an id of other origin."""
    run, _, name = job_id.rpartition("-")
    found = chunk_and_kind(name)
    return (run, *found) if run and found else None
