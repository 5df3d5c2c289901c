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
    from bpefleet.producer.queueing.chunk_states import ChunkStates
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


@dataclass(slots=True)
class _Done:
    """What a worker did for the run."""

    chunks: int = 0
    bytes: int = 0
    seconds: float = 0.0
    peak_rss: int = 0


class Gathering:
    """Takes in what happens; `detail` tells it."""

    def __init__(self, run: str) -> None:
        self._run = run
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

    def detail(self, ledger: Ledger, states: ChunkStates, sweep: Sweep) -> Detail:
        """All of it, and where the run is now."""
        self._sample(ledger, sweep)
        most = nlargest(_MOST_COURSES, self._workers, key=lambda name: self._workers[name].bytes)
        points = self._by_worker.points
        return Detail(
            run=self._run,
            states=_letters(states),
            series=tuple(sample for _, sample in self._series.points),
            times=tuple(time for time, _ in points),
            courses=tuple(
                WorkerCourse(name, tuple(counted.get(name, 0) for _, counted in points))
                for name in most
            ),
            workers=tuple(self._worker(seen, states) for seen in sweep.seen),
            timings=tuple(self._timing(stage) for stage in self._counts if stage != _LAG),
            lag=self._timing(_LAG),
            failures=tuple(FailureCount(k, n) for k, n in sorted(self._failures.items())),
            traces=tuple(
                Trace(chunk, failed.traceback[-_MOST_TEXT:], failed.log[-_MOST_TEXT:])
                for chunk, failed in sorted(states.failed.items())[:_MOST_TRACES]
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

    def _worker(self, seen: Seen, states: ChunkStates) -> WorkerView:
        done = self._workers[seen.name]
        chunk, doing, since = states.work_of(seen.name)
        return WorkerView(
            name=seen.name,
            host=seen.host,
            pid=seen.pid,
            heard=seen.heard,
            chunk=chunk,
            doing=doing,
            since=since,
            chunks=done.chunks,
            bytes=done.bytes,
            seconds=done.seconds,
            peak_rss=done.peak_rss,
        )


def _letters(states: ChunkStates) -> str:
    """For each chunk a letter of `STATES`."""
    letters = bytearray(STATES["waiting"].encode() * states.total)
    groups = (
        (STATES["queued"], states.in_flight),
        (STATES["running"], (chunk for chunk, _ in states.running())),
        (STATES["failed"], states.failed),
        (STATES["counted"], states.folded),
    )
    for letter, members in groups:
        code = ord(letter)
        for chunk in members:
            letters[chunk] = code
    return letters.decode()
