"""The rate of progress that comes in leaps, over the last seconds, and the time that is left."""

from __future__ import annotations

import time
from collections import deque


class Pace:
    """The rate of what grows by leaps, such as bytes counted: a chunk at a time.

    It is taken between two leaps and never within one, or a rate over some seconds would be none
    at all for as long as a chunk takes, and then several times the true one.
    """

    def __init__(self, over: float) -> None:
        """Begin with nothing seen.

        Args:
            over: Seconds over which to take the rate; more where leaps are further apart.
        """
        self._over = over
        self._leaps: deque[tuple[float, int]] = deque()

    def see(self, done: int, now: float | None = None) -> None:
        """Note how much is done; `now` is the time by `time.monotonic`."""
        now = time.monotonic() if now is None else now
        leaps = self._leaps
        if not leaps or done != leaps[-1][1]:
            leaps.append((now, done))
        # One from before these seconds stays: from there on the first of them was worked at.
        while len(leaps) > 2 and leaps[1][0] <= now - self._over:  # noqa: PLR2004
            leaps.popleft()

    def rate(self, now: float | None = None) -> float:
        """What is done a second; it falls once the next leap is overdue. 0 before the first."""
        if len(self._leaps) < 2:  # noqa: PLR2004
            return 0.0
        since, before = self._leaps[0]
        seconds = self._until(now) - since
        return (self._leaps[-1][1] - before) / seconds if seconds > 0 else 0.0

    def left(self, total: int, now: float | None = None) -> float | None:
        """Seconds until `total` is done; None if there is no telling."""
        now = time.monotonic() if now is None else now
        if not (rate := self.rate(now)):
            return None
        worked = now - self._until(now)  # at what the next leap will tell of
        return max(0.0, (total - self._leaps[-1][1]) / rate - worked)

    def _until(self, now: float | None) -> float:
        """The last leap, or when the next one should have come at the latest."""
        now = time.monotonic() if now is None else now
        (first, _), (last, _) = self._leaps[0], self._leaps[-1]
        return max(last, now - (last - first) / (len(self._leaps) - 1))
