"""Whether and when a chunk whose attempt failed is tried again.

This is decided here and not by RQ, which forgets the attempts before. An attempt that may end
differently (its worker died, memory ran out, time ran out, Redis was away) is followed by up to
`RETRIES` more, after growing pauses; one that cannot (invalid text, a missing file) is the last.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import FullError

if TYPE_CHECKING:
    from bpefleet.shared.wire.messages import Failed

PAUSES: Final = (0.0, 2.0, 10.0)
"""Seconds before each retry. The first comes at once: most often a worker just died."""

RETRIES: Final = len(PAUSES)
"""Times that a chunk is tried again in one session, if that can help."""

_FULL_PAUSE: Final = 5.0
"""Seconds before it is tried again where the exchange was full, as often as it takes: as with a
full Redis, the run waits for room.
"""


class Retries:
    """The chunks that back off before their retry.

    Attributes:
        made: How often a chunk was tried again, in all.
        full: The chunks whose last attempt found the exchange full, each with the Unix seconds
            since when all attempts have.
    """

    def __init__(self) -> None:
        self.made = 0
        self.full: dict[int, float] = {}
        self._backing_off: list[tuple[float, int]] = []
        self._failed: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._backing_off)

    def pause(self, chunk: int, failure: Failed) -> float | None:
        """Note a failed attempt; seconds until another, or None if none can help."""
        if failure.kind == FullError.__name__:
            self.full.setdefault(chunk, time.time())
            return _FULL_PAUSE
        self.full.pop(chunk, None)
        before = self._failed[chunk]
        self._failed[chunk] += 1
        return PAUSES[before] if failure.may_heal and before < RETRIES else None

    def add(self, chunk: int, until: float) -> None:
        """Have a chunk back off until some time."""
        self.made += 1
        heapq.heappush(self._backing_off, (until, chunk))

    def due(self, now: float) -> list[int]:
        """The chunks that have backed off for long enough, and do no more."""
        due = []
        while self._backing_off and self._backing_off[0][0] <= now:
            due.append(heapq.heappop(self._backing_off)[1])
        return due

    def failed(self, chunk: int) -> int:
        """Attempts at a chunk that failed in this session."""
        return self._failed[chunk]

    def forgive(self, chunk: int) -> None:
        """Give a chunk fresh retries."""
        del self._failed[chunk]

    def clear(self) -> None:
        """Let none of them be tried again."""
        self._backing_off.clear()
