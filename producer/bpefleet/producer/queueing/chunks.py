"""Where each chunk of a run stands: waiting, queued, resting before a retry, folded or failed.

Retries are decided here and not by RQ, which forgets the attempts before. An attempt that may end
differently (its worker died, memory ran out, time ran out, Redis was away) is followed by up to
`RETRIES` more, after growing pauses; one that cannot (invalid text, a missing file) is the last.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bpefleet.shared.wire.messages import Failed

PAUSES: Final = (0.0, 2.0, 10.0)
"""Seconds before each retry. The first comes at once: most often a worker just died."""
RETRIES: Final = len(PAUSES)
"""Times that a chunk is counted again in one session, if that can help."""


class Chunks:
    """The chunks that a session has to count.

    Attributes:
        queued: In Redis: queued, or taken by a worker.
        failed: Failed for good, with the last reason.
        retries: How often a chunk was counted again, in all.
    """

    def __init__(self, missing: Iterable[int]) -> None:
        """Begin with all `missing` chunks waiting."""
        self.queued: set[int] = set()
        self.failed: dict[int, Failed] = {}
        self.retries = 0
        self._waiting = deque(missing)
        self._resting: list[tuple[float, int]] = []
        self._attempts: Counter[int] = Counter()
        self._under_way: dict[int, str] = {}
        self._folded: set[int] = set()
        self._halted = False

    @property
    def unfinished(self) -> bool:
        """Whether any chunk is still to be folded."""
        return bool(self._waiting or self.queued or self._resting)

    @property
    def waiting(self) -> int:
        """How many wait for room in the queue."""
        return len(self._waiting)

    @property
    def resting(self) -> int:
        """How many wait for their retry."""
        return len(self._resting)

    def take(self, room: int, now: float) -> list[int]:
        """Up to `room` chunks to be queued now: those that were counted before come first."""
        while self._resting and self._resting[0][0] <= now:
            self._waiting.appendleft(heapq.heappop(self._resting)[1])
        taken: list[int] = []
        while self._waiting and len(taken) < room:
            # A late answer to an attempt that was given up may have come meanwhile.
            if (chunk := self._waiting.popleft()) not in self._folded:
                taken.append(chunk)
        self.queued.update(taken)
        return taken

    def placed(self, chunk: int, attempt: str) -> None:
        """A taken chunk is in Redis; `attempt` tells this attempt from others."""
        self._under_way[chunk] = attempt

    def under_way(self, chunk: int) -> str:
        """Which attempt at a chunk is in Redis; empty if none is known to be."""
        return self._under_way.get(chunk, "")

    def is_under_way(self, chunk: int, attempt: str) -> bool:
        """Whether an attempt at a chunk may be the one in Redis."""
        return chunk in self.queued and self._under_way.get(chunk, attempt) == attempt

    def put_back(self, chunks: Iterable[int]) -> None:
        """Have chunks that are not in Redis wait again; that was no attempt."""
        for chunk in chunks:
            self._left(chunk)
            if not self._halted:
                self._waiting.appendleft(chunk)

    def folded(self, chunk: int) -> None:
        """A chunk's counts are in the ledger."""
        self._folded.add(chunk)
        self._left(chunk)
        self.failed.pop(chunk, None)

    def ended(
        self, chunk: int, failure: Failed, now: float, attempt: str | None = None
    ) -> float | None:
        """An attempt failed.

        Args:
            chunk: Which.
            failure: How.
            now: The time, by the clock that `take` is given.
            attempt: Which attempt; None for the one that is under way.

        Returns:
            Seconds until the chunk is counted again; None if it is not.
        """
        # Else it was given up before, or is played back while another is under way.
        if chunk not in self.queued or not (attempt is None or self.is_under_way(chunk, attempt)):
            return None
        self._left(chunk)
        done = self._attempts[chunk]
        self._attempts[chunk] += 1
        if not failure.may_heal or done >= RETRIES:
            self.failed[chunk] = failure
            return None
        if self._halted:
            return None
        self.retries += 1
        heapq.heappush(self._resting, (now + PAUSES[done], chunk))
        return PAUSES[done]

    def retry(self, chunks: Collection[int]) -> list[int]:
        """Have failed chunks counted again, with fresh retries; all of them if none is named.

        Returns:
            Which they are: none after a halt.
        """
        if self._halted:
            return []
        again = sorted(set(chunks or self.failed) & self.failed.keys())
        for chunk in again:
            del self.failed[chunk]
            del self._attempts[chunk]
        self._waiting.extend(again)
        return again

    def attempts(self, chunk: int) -> int:
        """Attempts at a chunk that failed in this session."""
        return self._attempts[chunk]

    def _left(self, chunk: int) -> None:
        self.queued.discard(chunk)
        self._under_way.pop(chunk, None)

    def halt(self) -> None:
        """Queue nothing more, from now on; what is queued may still be folded."""
        self._halted = True
        self._waiting.clear()
        self._resting.clear()
