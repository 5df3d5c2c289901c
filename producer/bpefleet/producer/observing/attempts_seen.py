"""Sums up the attempts that ended in this session: by worker, by failure, by stage."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from bpefleet.shared.wire.shown.detail import BOUNDS, FailureCount, Timing

if TYPE_CHECKING:
    from bpefleet.shared.wire.kinds import Result
    from bpefleet.shared.wire.messages import Failed

_STAGES: Final = {
    "queue": "queued_seconds",
    "read": "read_seconds",
    "scan": "scan_seconds",
    "encode": "encode_seconds",
    "publish": "publish_seconds",
}
"""Of a result: stage, and the field with its time."""
_FOLD: Final = "fold"
_LAG: Final = "lag"


class Done(Struct, gc=False):
    """What a worker did for the run. As to garbage, see `chunk_states.InFlight`."""

    chunks: int = 0
    bytes: int = 0
    seconds: float = 0.0
    peak_rss: int = 0


class _Times:
    """How long something took, each time."""

    def __init__(self) -> None:
        self._count = 0
        self._seconds = 0.0
        self._buckets = [0] * len(BOUNDS)

    def add(self, seconds: float) -> None:
        self._count += 1
        self._seconds += seconds
        if (at := bisect_left(BOUNDS, seconds)) < len(BOUNDS):
            self._buckets[at] += 1

    def timing(self, stage: str) -> Timing:
        return Timing(stage, self._count, self._seconds, tuple(self._buckets))


class AttemptsSeen:
    """Takes in attempts as they end.

    Attributes:
        workers: By name, what each did.
    """

    def __init__(self) -> None:
        self.workers: defaultdict[str, Done] = defaultdict(Done)
        self._failures: Counter[str] = Counter()
        self._times: defaultdict[str, _Times] = defaultdict(_Times)
        self._lag = _Times()

    def done(self, end: Result, fold_seconds: float) -> None:
        """A chunk's result is stored."""
        done = self.workers[end.worker]
        done.chunks += 1
        done.bytes += end.bytes_read
        done.seconds += end.seconds
        done.peak_rss = max(done.peak_rss, end.peak_rss)
        for stage, field in _STAGES.items():
            if (seconds := getattr(end, field, None)) is not None:
                self._times[stage].add(seconds)
        self._times[_FOLD].add(fold_seconds)
        self._lag.add(max(0.0, time.time() - end.ended))

    def failed(self, failure: Failed) -> None:
        """An attempt failed."""
        self._failures[failure.kind] += 1

    @property
    def failures(self) -> tuple[FailureCount, ...]:
        """By kind of error, how many attempts failed so."""
        return tuple(FailureCount(kind, n) for kind, n in sorted(self._failures.items()))

    @property
    def timings(self) -> tuple[Timing, ...]:
        """By stage, how long chunks took."""
        return tuple(times.timing(stage) for stage, times in self._times.items())

    @property
    def lag(self) -> Timing:
        """How long results waited to be folded."""
        return self._lag.timing(_LAG)
