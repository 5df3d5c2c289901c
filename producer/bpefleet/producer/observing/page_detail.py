"""Gathers what a page shows of a run beside its snapshot: map, course, workers, timings."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.time_series import TimeSeries
from bpefleet.shared.wire.detail import (
    BOUNDS,
    STATES,
    Detail,
    FailureCount,
    Sample,
    Timing,
    Trace,
    WorkerCourse,
    WorkerView,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bpefleet.producer.queueing.chunks import Chunks
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.queueing.workers import Seen
    from bpefleet.producer.store.ledger import Ledger
    from bpefleet.shared.wire.kinds import Result
    from bpefleet.shared.wire.messages import Failed

_MOST_SAMPLES: Final = 600
_MOST_COURSES: Final = 7
"""Workers whose own course is told: those that counted most."""

_MOST_POINTS: Final = 120
_MOST_TRACES: Final = 25
_MOST_TEXT: Final = 4000
"""Characters of a traceback, and of a log: all this is posted each second."""
_STAGES: Final = {
    "queue": "queued_seconds",
    "read": "read_seconds",
    "scan": "scan_seconds",
    "encode": "encode_seconds",
    "publish": "publish_seconds",
}
"""Of a result: stage, and the field with its time."""
_LAG: Final = "lag"
_BETWEEN: Final = "between chunks"


@dataclass(slots=True)
class _Done:
    """What a worker did for the run."""

    chunks: int = 0
    bytes: int = 0
    seconds: float = 0.0
    peak_rss: int = 0


class Gathering:
    """Takes in what happens; `detail` tells it."""

    def __init__(self, run: str, chunks: int) -> None:
        self._run = run
        self._chunks = chunks
        self._workers: defaultdict[str, _Done] = defaultdict(_Done)
        self._failures: Counter[str] = Counter()
        self._series = TimeSeries[Sample](_MOST_SAMPLES)
        self._by_worker = TimeSeries[dict[str, int]](_MOST_POINTS)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(BOUNDS))

    def done(self, end: Result, fold_seconds: float) -> None:
        """A chunk's result was settled."""
        done = self._workers[end.worker]
        done.chunks += 1
        done.bytes += end.bytes_read
        done.seconds += end.seconds
        done.peak_rss = max(done.peak_rss, end.peak_rss)
        for stage, field in _STAGES.items():
            if hasattr(end, field):
                self._time(stage, getattr(end, field))
        self._time("fold", fold_seconds)
        self._time(_LAG, max(0.0, time.time() - end.ended))

    def failed(self, failure: Failed) -> None:
        """An attempt failed."""
        self._failures[failure.kind] += 1

    def detail(self, ledger: Ledger, chunks: Chunks, sweep: Sweep, done: Collection[int]) -> Detail:
        """All of it, and where the run is now; `done` are the chunks that are settled."""
        self._sample(ledger, sweep)
        most = nlargest(_MOST_COURSES, self._workers, key=lambda name: self._workers[name].bytes)
        points = self._by_worker.points
        return Detail(
            run=self._run,
            states=self._states(done, chunks, sweep.running),
            series=tuple(sample for _, sample in self._series.points),
            times=tuple(time for time, _ in points),
            courses=tuple(
                WorkerCourse(name, tuple(counted.get(name, 0) for _, counted in points))
                for name in most
            ),
            workers=tuple(self._worker(seen, chunks) for seen in sweep.seen),
            timings=tuple(self._timing(stage) for stage in self._counts if stage != _LAG),
            lag=self._timing(_LAG),
            failures=tuple(FailureCount(k, n) for k, n in sorted(self._failures.items())),
            traces=tuple(
                Trace(chunk, failed.traceback[-_MOST_TEXT:], failed.log[-_MOST_TEXT:])
                for chunk, failed in sorted(chunks.failed.items())[:_MOST_TRACES]
            ),
        )

    def _timing(self, stage: str) -> Timing:
        return Timing(stage, self._counts[stage], self._seconds[stage], tuple(self._buckets[stage]))

    def _time(self, stage: str, seconds: float) -> None:
        self._counts[stage] += 1
        self._seconds[stage] += seconds
        if (at := bisect_left(BOUNDS, seconds)) < len(BOUNDS):
            self._buckets[stage][at] += 1

    def _sample(self, ledger: Ledger, sweep: Sweep) -> None:
        now = time.time()
        if self._series.due(now):
            unique, memory = ledger.unique, sweep.redis_memory
            self._series.add(now, Sample(now, ledger.totals.bytes_read, unique, memory))
        if self._by_worker.due(now):
            self._by_worker.add(now, {name: done.bytes for name, done in self._workers.items()})

    def _states(self, done: Collection[int], chunks: Chunks, running: Mapping[int, object]) -> str:
        states = bytearray(STATES["waiting"].encode() * self._chunks)
        groups = (
            (STATES["queued"], chunks.queued),
            (STATES["running"], running),
            (STATES["failed"], chunks.failed),
            (STATES["counted"], done),
        )
        for letter, members in groups:
            code = ord(letter)
            for chunk in members:
                states[chunk] = code
        return states.decode()

    def _worker(self, seen: Seen, chunks: Chunks) -> WorkerView:
        done = self._workers[seen.name]
        busy = seen.chunk in chunks.queued  # the sweep was a while ago
        return WorkerView(
            name=seen.name,
            host=seen.host,
            pid=seen.pid,
            heard=seen.heard,
            chunk=seen.chunk if busy else None,
            doing=seen.doing if busy or seen.chunk is None else _BETWEEN,
            since=seen.since if busy else 0.0,
            chunks=done.chunks,
            bytes=done.bytes,
            seconds=done.seconds,
            peak_rss=done.peak_rss,
        )
