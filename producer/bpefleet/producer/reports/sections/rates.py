"""How fast text was counted over time, and by how many workers at once, from a run's history.

Each attempt that counted a chunk is taken to have read its text evenly between its start and its
end, by the clock of its worker. Time is cut wherever one starts or ends; in each stretch the number
of workers and their rate together are constant.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bpefleet.producer.store.history import Attempt

PAUSE: Final = 10.0
"""Seconds without any attempt that are left out: between two sessions nothing is counted."""

LEAST_SHARE: Final = 0.02
"""A number of workers is told of if it was at work for so much of the time; less tells little."""

_MOST_POINTS: Final = 20


@dataclass(frozen=True, slots=True)
class Stretch:
    """Seconds in which the same attempts ran: how many, and their bytes per second together."""

    seconds: float
    workers: int
    rate: float


@dataclass(frozen=True, slots=True)
class Level:
    """A number of workers at once: for how many seconds in all, and their bytes per second."""

    workers: int
    seconds: float
    rate: float


def stretches(ends: Iterable[Attempt]) -> list[Stretch]:
    """The course of counting, in order.

    Args:
        ends: Attempts that counted a chunk; those whose start is unknown or not before their end
            are passed over.
    """
    changes = []
    for end in ends:
        if end.started > 0 and end.started < end.ended < math.inf:
            rate = end.bytes_read / (end.ended - end.started)
            changes += [(end.started, 1, rate), (end.ended, -1, -rate)]
    changes.sort()
    found, workers, rate = [], 0, 0.0
    for (at, step, more), (until, _, _) in pairwise(changes):
        workers += step
        rate = rate + more if workers else 0.0  # no rounding error outlives a pause
        seconds = until - at
        if seconds and (workers or seconds < PAUSE):
            found.append(Stretch(seconds, workers, max(0.0, rate)))
    return found


def over_time(course: Sequence[Stretch]) -> list[tuple[float, float]]:
    """Bytes per second in equal parts of the time: the second in which each ends, and the rate."""
    if not course:
        return []
    times = [0.0, *accumulate(stretch.seconds for stretch in course)]
    sizes = [0.0, *accumulate(stretch.seconds * stretch.rate for stretch in course)]

    def counted_by(second: float) -> float:
        i = min(bisect_right(times, second), len(course)) - 1
        return sizes[i] + (second - times[i]) * course[i].rate

    count = min(_MOST_POINTS, len(course))
    width = times[-1] / count
    edges = [width * i for i in range(count + 1)]
    return [(b, max(0.0, counted_by(b) - counted_by(a)) / width) for a, b in pairwise(edges)]


def scaling(course: Iterable[Stretch]) -> list[Level]:
    """The rate by number of workers at once, the fewest first; rare numbers are left out."""
    seconds: dict[int, float] = {}
    sizes: dict[int, float] = {}
    for stretch in course:
        if stretch.workers:
            seconds[stretch.workers] = seconds.get(stretch.workers, 0.0) + stretch.seconds
            size = stretch.seconds * stretch.rate
            sizes[stretch.workers] = sizes.get(stretch.workers, 0.0) + size
    least = LEAST_SHARE * sum(seconds.values())
    return [Level(n, s, sizes[n] / s) for n, s in sorted(seconds.items()) if s >= least]
