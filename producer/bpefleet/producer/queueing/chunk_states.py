"""Where each chunk of a run stands, for one kind of job.

A chunk waits, is in flight, backs off before a retry, is folded, or has failed for good. All who
act on chunks or tell of them ask here. What counts as folded is on disk: this says the same while
the process lives, and is made anew from it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.queueing.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from bpefleet.shared.wire.kinds import Kind
    from bpefleet.shared.wire.messages import Failed

BETWEEN: Final = "between chunks"
"""What a worker does that has just ended a chunk."""


@dataclass(slots=True)
class InFlight:
    """What is known of a chunk whose job is in Redis.

    Attributes:
        attempt: Which attempt it is (see `jobs.FleetJob.attempt`); empty if that is unknown, and
            None while it is being queued, when no event can tell of its end yet.
        worker: Who was at it at the last look; None if nobody was.
        doing: What that worker did with it.
        since: Unix seconds since when that worker has been seen at it.
        doing_since: Likewise doing that.
    """

    attempt: str | None = None
    worker: str | None = None
    doing: str = ""
    since: float = 0.0
    doing_since: float = 0.0


class ChunkStates:
    """Where the chunks stand.

    Attributes:
        kind: What is done with them.
        total: How many the run has, as far as they have arrived.
        in_flight: Those whose jobs are in Redis: queued, or taken by a worker.
        folded: Those whose results are in the run directory.
        failed: Those that failed for good, with the last reason.
        retries: Those that back off before they are tried again.
        growing: Whether more chunks may arrive.
    """

    def __init__(
        self,
        kind: Kind,
        total: int,
        todo: Iterable[int],
        folded: Iterable[int] = (),
        *,
        hold: bool = False,
    ) -> None:
        """Begin with all that is to be done waiting.

        Args:
            kind: What is done with the chunks.
            total: How many the run has.
            todo: Those that are to be done.
            folded: Those that are done.
            hold: Whether to wait for a retry when nothing but failed chunks is left.
        """
        self.kind = kind
        self.total = total
        self.in_flight: dict[int, InFlight] = {}
        self.folded = ChunkSet(folded)
        self.failed: dict[int, Failed] = {}
        self.retries = Retries()
        self.growing = False
        self._waiting = deque(todo)
        self._answered: Counter[int] = Counter()
        self._at: dict[str, int] = {}
        self._hold = hold
        self._halted = False

    @property
    def unfinished(self) -> bool:
        """Whether any chunk is still to be folded."""
        return bool(self.growing or self._waiting or self.in_flight or self.retries)

    @property
    def held(self) -> bool:
        """Whether all there is to do is to wait for a retry of failed chunks."""
        return self._hold and bool(self.failed) and not self._halted and not self.unfinished

    @property
    def waiting(self) -> int:
        """How many wait: for room in the queue, or for their retry."""
        return len(self._waiting) + len(self.retries)

    @property
    def awaited(self) -> list[int]:
        """The chunks in flight of which no event has come, by index."""
        return sorted(self.in_flight.keys() - self._answered.keys())

    @property
    def all_answered(self) -> bool:
        """Whether nothing waits, and events of all chunks in flight have come."""
        left = self._waiting or self.retries
        return not left and self.in_flight.keys() <= self._answered.keys()

    def arrive(self, total: int, *, more: bool) -> None:
        """Have chunks wait that have arrived.

        Args:
            total: How many the run has by now.
            more: Whether others may follow.
        """
        self.growing = more and not self._halted
        if not self._halted:
            self._waiting.extend(range(self.total, total))
        self.total = total

    def take(self, room: int, now: float) -> list[int]:
        """Up to `room` chunks to be queued now: those that were tried before come first."""
        if self.retries:
            self._waiting.extendleft(self.retries.due(now))
        taken: list[int] = []
        while self._waiting and len(taken) < room:
            # A late answer to an attempt that was given up may have come meanwhile.
            if (chunk := self._waiting.popleft()) not in self.folded:
                taken.append(chunk)
        self.in_flight |= {chunk: InFlight() for chunk in taken}
        return taken

    def queued(self, attempts: Mapping[int, str]) -> None:
        """Chunks that were taken are in Redis, and which attempts these are."""
        for chunk, attempt in attempts.items():
            if flight := self.in_flight.get(chunk):  # else a late answer folded it just now
                flight.attempt = attempt

    def put_back(self, chunks: Iterable[int]) -> None:
        """Have chunks that are not in Redis wait again; that was no attempt."""
        for chunk in chunks:
            # An event that came meanwhile may have ended it.
            if self.in_flight.pop(chunk, None) and not self._halted:
                self._waiting.appendleft(chunk)

    def seen_at_work(self, started: Mapping[int, tuple[str, str]]) -> None:
        """All chunks that workers are at, as just read from Redis: who, and doing what."""
        self._at = {worker: chunk for chunk, (worker, _) in started.items()}
        for chunk, flight in self.in_flight.items():
            before, did = flight.worker, flight.doing
            flight.worker, flight.doing = started.get(chunk, (None, ""))
            if flight.worker is None:
                flight.since = flight.doing_since = 0.0
            elif flight.worker != before:
                flight.since = flight.doing_since = time.time()
            elif flight.doing != did:
                flight.doing_since = time.time()

    def running(self) -> list[tuple[int, str]]:
        """The chunks that workers are at, by index, and who is."""
        return sorted((c, f.worker) for c, f in self.in_flight.items() if f.worker is not None)

    def since_when(self, doing: str) -> list[float]:
        """Of all workers that do this: since when each has been seen at it, in Unix seconds."""
        flights = self.in_flight.values()
        return [each.doing_since for each in flights if each.worker and each.doing == doing]

    def work_of(self, worker: str) -> tuple[int | None, str, float]:
        """The chunk that a worker is at, what it does with it, and since when (Unix seconds)."""
        if (chunk := self._at.get(worker)) is None:
            return None, "", 0.0
        if (flight := self.in_flight.get(chunk)) is None or flight.worker != worker:
            return None, BETWEEN, 0.0  # the look was a while ago
        return chunk, flight.doing, flight.since

    def attempt(self, chunk: int) -> str:
        """Which attempt at a chunk is in flight; empty if none is known to be."""
        flight = self.in_flight.get(chunk)
        return (flight.attempt or "") if flight else ""

    def is_in_flight(self, chunk: int, attempt: str) -> bool:
        """Whether an attempt at a chunk may be the one in flight."""
        flight = self.in_flight.get(chunk)
        return flight is not None and flight.attempt in {attempt, ""}

    def answered(self, chunk: int) -> None:
        """An event of a chunk has come, and is about to be handled."""
        self._answered[chunk] += 1

    def acknowledged(self, chunk: int) -> None:
        """An event that had come is acknowledged, or is to be read again."""
        self._answered[chunk] -= 1
        if not self._answered[chunk]:
            del self._answered[chunk]

    def fold(self, chunk: int) -> None:
        """A chunk's result is in the run directory."""
        self.folded.add(chunk)
        self.in_flight.pop(chunk, None)
        self.failed.pop(chunk, None)
        self.retries.full.pop(chunk, None)

    def undo(self, chunks: Iterable[int]) -> None:
        """Results that were in the run directory are of no use after all: they are made again."""
        for chunk in chunks:
            if chunk in self.folded:
                self.folded.discard(chunk)
                if not self._halted:
                    self._waiting.append(chunk)

    def fail(
        self, chunk: int, failure: Failed, now: float, attempt: str | None = None
    ) -> float | None:
        """An attempt failed.

        Args:
            chunk: Which.
            failure: How.
            now: The time, by the clock that `take` is given.
            attempt: Which attempt; None for the one that is in flight.

        Returns:
            Seconds until the chunk is tried again; None if it is not.
        """
        # Else it was given up before, or is played back while another is in flight.
        if attempt is None:
            if chunk not in self.in_flight:
                return None
        elif not self.is_in_flight(chunk, attempt):
            return None
        del self.in_flight[chunk]
        if (pause := self.retries.pause(chunk, failure)) is None:
            self.failed[chunk] = failure
        elif self._halted:
            return None
        else:
            self.retries.add(chunk, now + pause)
        return pause

    def retry(self, chunks: Collection[int]) -> list[int]:
        """Have failed chunks tried again, with fresh retries; all of them if none is named.

        Returns:
            Which they are: none after a halt.
        """
        if self._halted:
            return []
        again = sorted(set(chunks or self.failed) & self.failed.keys())
        for chunk in again:
            del self.failed[chunk]
            self.retries.forgive(chunk)
        self._waiting.extend(again)
        return again

    def halt(self) -> None:
        """Queue nothing more, from now on; what is in flight may still be folded."""
        self._halted = True
        self.growing = False
        self._waiting.clear()
        self.retries.clear()
