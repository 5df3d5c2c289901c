"""Settles events: a chunk's counts go into the ledger, or into the journal why there are none.

Several events at once: while one payload is written to disk, the next is fetched. Those of one
chunk are settled one after the other, as they came.

RQ delivers at least once, so all of this is idempotent by chunk.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from bpefleet.kernel import PayloadError
from bpefleet.producer.attempts import Attempt
from bpefleet.producer.chunks import RETRIES
from bpefleet.shared.keys import LARGEST_PAYLOAD, payload_prefix
from bpefleet.shared.messages import Counted, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.chunks import Chunks
    from bpefleet.producer.detail import Gathering
    from bpefleet.producer.events import Events
    from bpefleet.producer.payloads import Payloads
    from bpefleet.producer.session import Session
    from bpefleet.shared.event import Event
    from bpefleet.shared.signing import Signer

_AT_ONCE: Final = 2
"""Payloads in memory."""
_MOST: Final = 64
"""Events in hand."""


class Folding:
    """Settles the events that it is handed.

    Attributes:
        still: Held while what is known of chunks changes, and by who tells of it.
    """

    def __init__(
        self,
        session: Session,
        *,
        chunks: Chunks,
        events: Events,
        payloads: Payloads,
        gathering: Gathering,
        signer: Signer,
    ) -> None:
        """Prepare to fold.

        Args:
            session: The run.
            chunks: Told what becomes of each chunk.
            events: Where events come from, and are dropped once settled.
            payloads: Fetches what events name.
            gathering: Told, for those who look on.
            signer: Says what a payload's fingerprint must be.
        """
        self._plan = session.directory.plan
        self._ledger = session.ledger
        self._journal = session.journal
        self._watch = session.watch
        self._chunks = chunks
        self._events = events
        self._payloads = payloads
        self._gathering = gathering
        self._signer = signer
        self.still = asyncio.Lock()
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(_AT_ONCE)

    @property
    def in_hand(self) -> int:
        """How many events are being settled."""
        return len(self._tasks)

    @property
    def awaited(self) -> set[int]:
        """The chunks that are in Redis with none of their events in hand."""
        return self._chunks.queued - {chunk for _, chunk in self._tasks}

    @property
    def saturated(self) -> bool:
        """Whether to read no events for now: too many are in hand, or of all chunks that remain."""
        to_come = self._chunks.waiting or self._chunks.resting or self.awaited
        return self.in_hand >= _MOST or (self.in_hand > 0 and not to_come)

    def begin(self, events: Iterable[Event]) -> None:
        """Take events in hand, but for those that are already."""
        for event in events:
            if (name := (event.id, event.chunk)) not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._settle(event))

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until an event is settled, or, without a time, until all are.

        Raises:
            BpefleetError: The ledger or the journal cannot be written.
            RedisError: Redis is lost.
        """
        until = asyncio.ALL_COMPLETED if seconds is None else asyncio.FIRST_COMPLETED
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds, return_when=until)
        self.check()

    def check(self) -> None:
        """Let go of what is settled; raises as `wait`, and the event comes again."""
        for name, task in [(n, t) for n, t in self._tasks.items() if t.done()]:
            del self._tasks[name]
            if task.exception() is not None:
                self._events.rewind()
            task.result()

    async def leave(self) -> None:
        """Drop what is in hand: it is settled the next time."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def failed(self, chunk: int, failure: Failed, event: Event | None = None) -> None:
        """Take down a failed attempt, and say so if the chunk is counted again.

        Without an event it is the attempt under way that failed.
        """
        attempt_ = event.attempt if event else None
        now = asyncio.get_running_loop().time()
        async with self.still:
            pause = self._chunks.ended(chunk, failure, now, attempt_)
            self._gathering.failed(failure)
            final = chunk in self._chunks.failed
        attempt = Attempt.of(chunk, failure, event=event.id if event else "", final=final)
        await asyncio.to_thread(self._journal.add, attempt)
        if pause is not None:
            what = failure.error.partition("\n")[0]
            self._watch.warn(
                f"chunk {chunk} ({self._plan.describe(chunk)}): {what}; it is counted again, "
                f"retry {self._chunks.attempts(chunk)} of {RETRIES}"
                + (f" in {pause:.0f} s" if pause else ""),
                chunk=chunk,
                attempt=self._chunks.attempts(chunk),
                worker=failure.worker,
            )

    async def _settle(self, event: Event) -> None:
        body, key = event.body, None
        async with self._locks.setdefault(event.chunk, asyncio.Lock()):
            if isinstance(body, Failed):
                await self.failed(event.chunk, body, event)
            elif not body.key.startswith(payload_prefix(self._plan.run, event.chunk)):
                # Nobody of ours wrote that: the key may be anything, and is left alone.
                odd = Failed("PayloadError", "its event names a foreign key", may_heal=True)
                await self.failed(event.chunk, odd, event)
            else:
                key = body.key
                await self._fold(event, body)
            # Only now: until the ledger has it, or the journal, the event is all that tells of it,
            # and a good payload is the chunk's only copy.
            await self._events.drop(event, key)

    async def _fold(self, event: Event, counted: Counted) -> None:
        chunk = event.chunk
        if chunk in self._ledger.chunks:
            # A second attempt, or one that was folded just before a crash.
            again = Attempt.of(chunk, counted, event=event.id)
            await asyncio.to_thread(self._journal.add, again)
            return
        async with self._room:
            payload = await self._payloads.fetch(counted.key)
            start = time.perf_counter()
            failed = await asyncio.to_thread(self._add, event, counted, payload)
            took = time.perf_counter() - start
        if failed is not None:
            await self.failed(chunk, failed, event)
            return
        async with self.still:
            self._chunks.folded(chunk)
            self._gathering.counted(counted, took)

    def _add(self, event: Event, counted: Counted, payload: bytes | None) -> Failed | None:
        """Put a payload into the ledger and the journal; what is wrong with it, if anything."""
        chunk, start = event.chunk, time.perf_counter()
        if changed := self._plan.changed(chunk):
            return changed
        if payload is None:
            reason = (
                "its counts expired before they were folded, or are larger than "
                f"{LARGEST_PAYLOAD:,} bytes"
            )
            return Failed("PayloadError", reason, may_heal=True, worker=counted.worker)
        try:
            self._demand_right(chunk, counted, payload)
            self._ledger.add(chunk, counted, payload)
        except PayloadError as error:
            reason = f"its counts arrived damaged ({error})"
            return Failed("PayloadError", reason, may_heal=True, worker=counted.worker)
        took = time.perf_counter() - start
        self._journal.add(Attempt.of(chunk, counted, event=event.id, fold_seconds=took))
        return None

    def _demand_right(self, chunk: int, counted: Counted, payload: bytes) -> None:
        fingerprint = self._signer.fingerprint(payload)
        if fingerprint and fingerprint != counted.sha256:
            raise PayloadError("the SHA-256 differs")
        if counted.bytes_read != self._plan.chunk_bytes(chunk):
            raise PayloadError("it is of another number of bytes")
