"""What a page shows of a run beside its snapshot: map, course, workers, timings."""

from __future__ import annotations

import time
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.time_series import TimeSeries
from bpefleet.shared.wire.detail import STATES, Detail, Sample, Trace, WorkerCourse, WorkerView

if TYPE_CHECKING:
    from bpefleet.producer.observing.attempts_seen import AttemptsSeen
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.serving.workers import Seen
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.store.settled import Settled

_MOST_SAMPLES: Final = 600
_MOST_COURSES: Final = 7
"""Workers whose own course is told: those that counted most."""

_MOST_POINTS: Final = 120
_MOST_TRACES: Final = 25
_MOST_TEXT: Final = 4000
"""Characters of a traceback, and of a log: all this is posted each second."""


class PageDetail:
    """Puts together what the page shows."""

    def __init__(
        self, run: str, ledger: Settled, states: ChunkStates, attempts: AttemptsSeen, sweep: Sweep
    ) -> None:
        self._run = run
        self._ledger = ledger
        self._states = states
        self._attempts = attempts
        self._sweep = sweep
        self._series = TimeSeries[Sample](_MOST_SAMPLES)
        self._by_worker = TimeSeries[dict[str, int]](_MOST_POINTS)

    def now(self) -> Detail:
        """All of it, and where the run is now."""
        self._sample()
        done = self._attempts.workers
        most = nlargest(_MOST_COURSES, done, key=lambda name: done[name].bytes)
        points = self._by_worker.points
        return Detail(
            run=self._run,
            states=_letters(self._states),
            series=tuple(sample for _, sample in self._series.points),
            times=tuple(time for time, _ in points),
            courses=tuple(
                WorkerCourse(name, tuple(counted.get(name, 0) for _, counted in points))
                for name in most
            ),
            workers=tuple(map(self._worker, self._sweep.workers.seen)),
            timings=self._attempts.timings,
            lag=self._attempts.lag,
            failures=self._attempts.failures,
            traces=tuple(
                Trace(chunk, failed.traceback[-_MOST_TEXT:], failed.log[-_MOST_TEXT:])
                for chunk, failed in sorted(self._states.failed.items())[:_MOST_TRACES]
            ),
        )

    def _sample(self) -> None:
        now = time.time()
        if self._series.due(now):
            counted, unique = self._ledger.totals.bytes_read, self._ledger.unique
            self._series.add(now, Sample(now, counted, unique, self._sweep.redis_memory))
        if self._by_worker.due(now):
            workers = self._attempts.workers
            self._by_worker.add(now, {name: done.bytes for name, done in workers.items()})

    def _worker(self, seen: Seen) -> WorkerView:
        done = self._attempts.workers[seen.name]
        chunk, doing, since = self._states.work_of(seen.name)
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
