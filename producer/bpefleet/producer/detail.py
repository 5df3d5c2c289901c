"""Gathers what a page shows of a run beside its snapshot: map, course, workers, timings."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.shared.status import (
    BOUNDS,
    STATES,
    Detail,
    FailureCount,
    Sample,
    Timing,
    WorkerView,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.producer.chunks import Chunks
    from bpefleet.producer.ledger import Ledger
    from bpefleet.producer.sweep import Seen, Sweep
    from bpefleet.shared.messages import Counted, Failed

_MOST_SAMPLES: Final = 600


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
        self._done: defaultdict[str, _Done] = defaultdict(_Done)
        self._failures: Counter[str] = Counter()
        self._series: list[Sample] = []
        self._every = 0.0
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(BOUNDS))

    def counted(self, end: Counted, fold_seconds: float) -> None:
        """A chunk was folded."""
        done = self._done[end.worker]
        done.chunks += 1
        done.bytes += end.bytes_read
        done.seconds += end.seconds
        done.peak_rss = max(done.peak_rss, end.peak_rss)
        self._time("queue", end.queued_seconds)
        self._time("read", end.read_seconds)
        self._time("scan", end.scan_seconds)
        self._time("encode", end.encode_seconds)
        self._time("publish", end.publish_seconds)
        self._time("fold", fold_seconds)

    def failed(self, failure: Failed) -> None:
        """An attempt failed."""
        self._failures[failure.kind] += 1

    def detail(self, ledger: Ledger, chunks: Chunks, sweep: Sweep) -> Detail:
        """All of it, and where the run is now."""
        self._sample(ledger, sweep)
        return Detail(
            run=self._run,
            states=self._states(ledger, chunks, sweep.running),
            series=tuple(self._series),
            workers=tuple(self._worker(seen) for seen in sweep.seen),
            timings=tuple(
                Timing(stage, self._counts[stage], self._seconds[stage], tuple(buckets))
                for stage, buckets in self._buckets.items()
            ),
            failures=tuple(FailureCount(k, n) for k, n in sorted(self._failures.items())),
        )

    def _time(self, stage: str, seconds: float) -> None:
        self._counts[stage] += 1
        self._seconds[stage] += seconds
        if (at := bisect_left(BOUNDS, seconds)) < len(BOUNDS):
            self._buckets[stage][at] += 1

    def _sample(self, ledger: Ledger, sweep: Sweep) -> None:
        """Add a point, and when there are too many, drop every other one and add half as many."""
        now = time.time()
        if self._series and now - self._series[-1].time < self._every:
            return
        unique, memory = len(ledger.counts), sweep.redis_memory
        self._series.append(Sample(now, ledger.totals.bytes_read, unique, memory))
        if len(self._series) > _MOST_SAMPLES:
            self._series = self._series[::2]
            span = self._series[-1].time - self._series[0].time
            self._every = 2 * span / _MOST_SAMPLES

    def _states(self, ledger: Ledger, chunks: Chunks, running: Mapping[int, object]) -> str:
        states = bytearray(STATES["waiting"].encode() * self._chunks)
        groups = (
            (STATES["queued"], chunks.queued),
            (STATES["running"], running),
            (STATES["failed"], chunks.failed),
            (STATES["counted"], ledger.chunks),
        )
        for letter, members in groups:
            code = ord(letter)
            for chunk in members:
                states[chunk] = code
        return states.decode()

    def _worker(self, seen: Seen) -> WorkerView:
        done = self._done[seen.name]
        return WorkerView(
            name=seen.name,
            host=seen.host,
            pid=seen.pid,
            heard=seen.heard,
            chunk=seen.chunk,
            doing=seen.doing,
            since=seen.since,
            chunks=done.chunks,
            bytes=done.bytes,
            seconds=done.seconds,
            peak_rss=done.peak_rss,
        )
