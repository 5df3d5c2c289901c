"""The aggregator: folds counts into the ledger as the workers publish them.

One asyncio loop keeps a bounded window of jobs queued, reads the run's completion events, fetches
payloads and has them folded. Whatever blocks (disk, hashing, folding, RQ) runs in threads.

RQ delivers at least once, so everything here is idempotent by chunk. An event may also be missing:
a job that another process declared dead, or a Redis that lost its memory. Hence the sweep, which
compares what should be queued with what is.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.kernel import PayloadError
from bpefleet.shared.keys import QUEUE, events_key, job_id
from bpefleet.shared.messages import Counted, Failed, MessageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

    from bpefleet.producer.enqueue import Enqueuer
    from bpefleet.producer.ledger import Ledger
    from bpefleet.producer.plan import Plan
    from bpefleet.producer.progress import Progress

_WINDOW_PER_WORKER: Final = 3
_MIN_WINDOW: Final = 4
_BLOCK_MS: Final = 200
_SWEEP_SECONDS: Final = 2.0
_LOST_TWICE: Final = 3
"""Times that a chunk is queued again because its payload was gone or damaged."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the run's event stream."""

    id: bytes
    chunk: int
    body: Counted | Failed

    @classmethod
    def read(cls, entry: bytes, fields: dict[bytes, bytes]) -> Event:
        """Read a stream entry.

        Raises:
            MessageError: It is not what workers write.
        """
        try:
            chunk, outcome = int(fields[b"chunk"]), fields[b"outcome"]
            body = orjson.loads(fields[b"body"])
        except (KeyError, ValueError) as error:
            raise MessageError(f"event {entry.decode()}: {error!r}") from error
        if outcome == b"counted":
            return cls(entry, chunk, Counted.from_json(body))
        return cls(entry, chunk, Failed.from_json(body))


class Aggregator:
    """Has every chunk of a plan counted and folded.

    Attributes:
        failed: Chunks whose jobs failed for good, with the reasons.
    """

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        *,
        redis: Redis,
        enqueuer: Enqueuer,
        progress: Progress,
        upkeep: Callable[[], str | None],
    ) -> None:
        """Prepare to count what the ledger lacks.

        Args:
            plan: The run.
            ledger: Its folded chunks.
            redis: An asyncio connection without a socket timeout: reads block.
            enqueuer: Queues its chunks.
            progress: Shown what happens.
            upkeep: Called in a thread at each sweep; raises if the run cannot go on, and returns
                what to tell the person if nobody works.
        """
        self._plan = plan
        self._ledger = ledger
        self._redis = redis
        self._enqueuer = enqueuer
        self._progress = progress
        self._upkeep = upkeep
        self._waiting = deque(i for i in range(len(plan.chunks)) if i not in ledger.chunks)
        self._queued: set[int] = set()
        self._lost: Counter[int] = Counter()
        self._finished_unseen: set[int] = set()
        self._last_event: bytes = b"0-0"
        self._folding = asyncio.Lock()
        self._window = _MIN_WINDOW
        self._running = 0
        self._idle_said = False
        self.failed: dict[int, Failed] = {}

    async def run(self) -> None:
        """Count and fold all chunks, except those that fail for good."""
        next_sweep = 0.0
        clock = asyncio.get_running_loop().time
        try:
            while self._waiting or self._queued:
                await self._fill_window()
                events = await self._next_events()
                await asyncio.gather(*(self._take(event) for event in events))
                if clock() >= next_sweep:
                    await self._sweep()
                    next_sweep = clock() + _SWEEP_SECONDS
                self._show()
        except asyncio.CancelledError:
            await asyncio.to_thread(self._enqueuer.withdraw, sorted(self._queued))
            raise

    async def _fill_window(self) -> None:
        room = self._window - len(self._queued)
        chunks = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        if chunks:
            self._queued.update(chunks)
            await asyncio.to_thread(self._enqueuer.put, chunks)

    async def _next_events(self) -> list[Event]:
        key = events_key(self._plan.run)
        # redis-py types its answers for all protocols and decodings at once.
        entries: Any = await self._redis.xread({key: self._last_event}, count=64, block=_BLOCK_MS)
        events = []
        for _stream, items in entries:
            for entry, fields in items:
                self._last_event = entry
                try:
                    events.append(Event.read(entry, fields))
                except MessageError as error:
                    self._progress.warn(f"an event that is not a worker's was left aside: {error}")
        return events

    async def _take(self, event: Event) -> None:
        if isinstance(event.body, Counted):
            await self._fold(event.chunk, event.body)
        elif event.chunk in self._queued:
            self._queued.discard(event.chunk)
            self.failed[event.chunk] = event.body
        await self._redis.xdel(events_key(self._plan.run), event.id)

    async def _fold(self, chunk: int, counted: Counted) -> None:
        payload: Any = await self._redis.get(counted.key)
        # Another attempt at the chunk may have been folded already: then this one only goes.
        if chunk not in self._ledger.chunks:
            reason = await self._fold_payload(chunk, counted, payload)
            if reason is None:
                self._queued.discard(chunk)
                self.failed.pop(chunk, None)
            else:
                await self._count_again(chunk, reason)
        # Only now: until the ledger has it, a good payload is the chunk's only copy.
        await self._redis.delete(counted.key)

    async def _fold_payload(
        self, chunk: int, counted: Counted, payload: bytes | None
    ) -> str | None:
        """Fold a payload off the loop; what is wrong with it, if anything."""
        if payload is None:
            return "its counts expired before they were folded"
        async with self._folding:
            try:
                await asyncio.to_thread(self._check_and_add, chunk, counted, payload)
            except PayloadError as error:
                return f"its counts arrived damaged ({error})"
        return None

    def _check_and_add(self, chunk: int, counted: Counted, payload: bytes) -> None:
        if hashlib.sha256(payload).hexdigest() != counted.sha256:
            raise PayloadError("the SHA-256 differs")
        self._ledger.add(chunk, counted, payload)

    async def _count_again(self, chunk: int, reason: str) -> None:
        self._lost[chunk] += 1
        described = f"chunk {chunk} ({self._plan.describe(chunk)})"
        if self._lost[chunk] > _LOST_TWICE:
            self._queued.discard(chunk)
            self.failed[chunk] = Failed("PayloadError", f"{described}: {reason}", "")
            return
        self._progress.warn(f"{described}: {reason}; it is counted again")
        self._queued.add(chunk)
        await asyncio.to_thread(self._enqueuer.put_again, chunk)

    async def _sweep(self) -> None:
        """Compare what should be queued with what Redis has, and look after the workers."""
        idle = await asyncio.to_thread(self._upkeep)
        if idle and not self._idle_said:
            self._progress.warn(idle)
        self._idle_said = bool(idle)
        workers = await self._redis.scard(f"rq:workers:{QUEUE}")
        self._window = max(_MIN_WINDOW, _WINDOW_PER_WORKER * workers)
        states = await self._states()
        self._running = sum(state == b"started" for state in states.values())
        for chunk, state in states.items():
            if state is None:
                # Redis forgot it: restarted without persistence, or somebody emptied the queue.
                self._queued.discard(chunk)
                self._waiting.appendleft(chunk)
        settled = {c for c, state in states.items() if state in (b"finished", b"failed")}
        # The event of a job that just ended may be on its way: act at the second sight.
        for chunk in settled & self._finished_unseen & self._queued:
            await self._take_unannounced(chunk)
        self._finished_unseen = settled

    async def _states(self) -> dict[int, bytes | None]:
        chunks = sorted(self._queued)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for chunk in chunks:
                pipeline.hget(f"rq:job:{job_id(self._plan.run, chunk)}", "status")
            return dict(zip(chunks, await pipeline.execute(), strict=True))

    async def _take_unannounced(self, chunk: int) -> None:
        outcome = await asyncio.to_thread(self._enqueuer.outcome, chunk)
        if isinstance(outcome, Counted):
            await self._fold(chunk, outcome)
        elif outcome is not None:
            self._queued.discard(chunk)
            self.failed[chunk] = outcome

    def _show(self) -> None:
        self._progress.counted(
            self._ledger.totals.bytes_read,
            f"{len(self._ledger.chunks):,}/{len(self._plan.chunks):,} chunks, "
            f"{self._running} running, {len(self.failed)} failed, "
            f"{len(self._ledger.counts):,} unique",
        )
