"""Snapshots and details by hand."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import orjson
from msgspec.structs import replace

from bpefleet.shared.wire.keys import RUNS, detail_key, status_key
from bpefleet.shared.wire.shown.cells import cells_of, pack
from bpefleet.shared.wire.shown.detail import (
    BOUNDS,
    Detail,
    FailureCount,
    Sample,
    Timing,
    Trace,
    WorkerCourse,
    WorkerView,
)
from bpefleet.shared.wire.shown.status import Exchanging, Failure, Running, Snapshot

if TYPE_CHECKING:
    from redis import Redis

RUN = "sample"
SESSION = "session of tests"


def sample_snapshot(chunks: int = 10, **changes: Any) -> Snapshot:
    """A run that counts: six tenths are counted, one chunk runs, one failed."""
    counted = chunks * 6 // 10
    snapshot = Snapshot(
        run=RUN,
        directory="/data/run",
        producer="process 7 on host",
        stage="count",
        updated=time.time(),
        chunks=chunks,
        counted=counted,
        running=(Running(counted, "a.txt [6.0-7.0 MiB]", "host-1"),),
        queued=1,
        waiting=chunks - counted - 3,
        failed=(Failure(counted + 1, "b.txt", 4, "host-2", "OSError", "cannot be read"),),
        bytes=chunks * 1000,
        bytes_counted=counted * 1000,
        pretokens=50_000,
        unique=4321,
        retries=3,
        workers=2,
        rate=1000.0,
        eta=4.0,
        merges=344,
        merges_made=0,
        holding=False,
        planned=time.time() - 59,
        started=time.time() - 60,
        ended=None,
        redis_memory=2_000_000,
        unfolded=2,
        merging=None,
        session=SESSION,
        exchange=Exchanging(sums=5, made=3, parts=40, bytes=2_000),
    )
    return replace(snapshot, **changes)


def sample_detail(chunks: int = 10, **changes: Any) -> Detail:
    """What belongs to it."""
    counted, now = chunks * 6 // 10, time.time()
    buckets = (0, 2, 0, 0, 1, *(0 for _ in BOUNDS[5:]))
    detail = Detail(
        run=RUN,
        map=pack(cells_of(b"c" * counted + b"rfq" + b"w" * (chunks - counted - 3))),
        series=tuple(Sample(now - 60 + i, i * 100, i * 70, 2_000_000) for i in range(60)),
        times=(now - 20, now - 10, now),
        courses=(WorkerCourse("host-1", (0, 2000, 6000)), WorkerCourse("host-2", (0, 0, 500))),
        workers=(WorkerView("host-1", "host", 8, now, counted, "count", now, 6, 6000, 6.0, 3),),
        timings=(Timing("scan", 4, 400.5, buckets),),
        lag=Timing("lag", 4, 1.5, buckets),
        failures=(FailureCount("OSError", 4),),
        traces=(Trace(counted + 1, "OSError: cannot be read", "12:00:00 info read b.txt"),),
    )
    return replace(detail, **changes)


def post(connection: Redis, snapshot: Snapshot, detail: Detail | None = None) -> None:
    """Put them where producers do."""
    connection.set(status_key(snapshot.run), orjson.dumps(snapshot.to_json()))
    if detail is not None:
        connection.set(detail_key(snapshot.run), orjson.dumps(detail.to_json()))
    connection.zadd(RUNS, {snapshot.run: snapshot.updated})
