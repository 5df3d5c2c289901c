"""What a page shows of a run beside its snapshot: map, time series, workers, timings."""

from __future__ import annotations

import time
from array import array
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.time_series import TimeSeries
from bpefleet.shared.wire.shown.cells import STATES, cells_of, pack
from bpefleet.shared.wire.shown.detail import Detail, Sample, Trace, WorkerCourse, WorkerView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.observing.attempts_seen import AttemptsSeen
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.serving.workers import Seen
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.store.ledgers.settled import Settled

_MOST_SAMPLES: Final = 600
_MOST_COURSES: Final = 7
"""Workers whose own course is told: those that counted most."""

_MOST_POINTS: Final = 120
_MOST_TRACES: Final = 10
_MOST_WORKERS: Final = 100
_MOST_TEXT: Final = 2000
"""Characters of a traceback, and of a log: all this is posted each second."""


class PageDetail:
    """Puts together what the page shows."""

    def __init__(
        self,
        run: str,
        ledger: Settled,
        states: ChunkStates,
        attempts: AttemptsSeen,
        sweep: Sweep,
        *,
        sums: ChunkStates | None = None,
    ) -> None:
        """Prepare to put it together; `sums` stand where those of an exchange do."""
        self._run = run
        self._ledger = ledger
        self._states = states
        self._sums = sums
        self._attempts = attempts
        self._sweep = sweep
        self._series = TimeSeries[Sample](_MOST_SAMPLES)
        self._by_worker: TimeSeries[array[int]] = TimeSeries(_MOST_POINTS)

    def now(self) -> Detail:
        """All of it, and where the run is now."""
        self._sample()
        done = self._attempts.workers
        most = nlargest(_MOST_COURSES, done, key=lambda name: done[name].bytes)
        numbers = {name: number for number, name in enumerate(done) if name in most}
        points = self._by_worker.points
        seen = self._sweep.workers.seen
        workers = seen if len(seen) <= _MOST_WORKERS else self._most_telling(seen)
        return Detail(
            run=self._run,
            map=pack(cells_of(_letters(self._states))),
            series=tuple(sample for _, sample in self._series.points),
            times=tuple(time for time, _ in points),
            courses=tuple(
                WorkerCourse(name, tuple(_at(counted, numbers[name]) for _, counted in points))
                for name in most
            ),
            workers=tuple(map(self._worker, workers)),
            more_workers=len(seen) - len(workers),
            hosts=len({worker.host for worker in seen}),
            timings=self._attempts.timings,
            lag=self._attempts.lag,
            failures=self._attempts.failures,
            traces=tuple(
                Trace(chunk, failed.traceback[-_MOST_TEXT:], failed.log[-_MOST_TEXT:])
                for chunk, failed in nsmallest(_MOST_TRACES, self._states.failed.items())
            ),
        )

    def _sample(self) -> None:
        now = time.time()
        if self._series.due(now):
            counted, unique = self._ledger.totals.bytes_read, self._ledger.unique
            self._series.add(now, Sample(now, counted, unique, self._sweep.redis_memory))
        if self._by_worker.due(now):
            workers = self._attempts.workers
            # In the order of the workers, who only become more: a dict each would take 100 MB.
            self._by_worker.add(now, array("Q", (done.bytes for done in workers.values())))

    def _most_telling(self, seen: Iterable[Seen]) -> list[Seen]:
        """Those that are longest at their chunk, and then those that were heard of longest ago."""

        def since(worker: Seen) -> tuple[bool, float]:
            chunk, _, begun = self._states.work_of(worker.name)
            return chunk is None, worker.heard if chunk is None else begun

        return nsmallest(_MOST_WORKERS, seen, key=since)

    def _worker(self, seen: Seen) -> WorkerView:
        done = self._attempts.workers[seen.name]
        chunk, doing, since = self._states.work_of(seen.name)
        if chunk is None and self._sums is not None:
            unit, _, begun = self._sums.work_of(seen.name)
            if unit is not None:
                doing, since = self._sums.kind.unit(unit), begun
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


def _at(counted: array[int], number: int) -> int:
    return counted[number] if number < len(counted) else 0  # it was not there yet


def _letters(states: ChunkStates) -> bytearray:
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
    return letters
