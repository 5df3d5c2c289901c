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
from bpefleet.producer.queueing.chunks import RETRIES
from bpefleet.producer.store.history import COUNTED, FAILED, Attempt
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD, payload_prefix
from bpefleet.shared.wire.messages import Counted, Failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.counting.payloads import Payloads
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.observing.page_detail import Gathering
    from bpefleet.producer.queueing.chunks import Chunks
    from bpefleet.producer.queueing.events import Events
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.event import Event

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
        self._spent: set[str] = set()
        """Keys of payloads that were of no use, and are gone."""

    @property
    def in_hand(self) -> int:
        """How many events are being settled."""
        return len(self._tasks)

    @property
    def awaited(self) -> set[int]:
        """Chunks in Redis of which no event is being settled."""
        return self._chunks.queued - {chunk for _, chunk in self._tasks}

    @property
    def saturated(self) -> bool:
        """Whether to read no more events for now.

        So it is when too many are being settled, or when those are of all the chunks that are left.
        """
        if self.in_hand >= _MOST or not self.in_hand:
            return self.in_hand > 0
        to_come = self._chunks.waiting or self._chunks.resting
        return not to_come and self._chunks.queued <= {chunk for _, chunk in self._tasks}

    def has_settled(self, event: Event) -> bool:
        """Whether an event says nothing that was not taken down before: it came again."""
        chunk, body = event.chunk, event.body
        if isinstance(body, Failed):
            return not self._chunks.is_under_way(chunk, event.attempt) and self._journal.has(
                chunk, event.attempt, FAILED
            )
        if chunk in self._ledger.chunks:
            return self._journal.has(chunk, event.attempt, COUNTED)
        return body.key in self._spent

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
        attempt = event.attempt if event else self._chunks.under_way(chunk)
        now = asyncio.get_running_loop().time()
        async with self.still:
            pause = self._chunks.ended(chunk, failure, now, attempt if event else None)
            if not self._journal.has(chunk, attempt, FAILED):
                self._gathering.failed(failure)
            final = chunk in self._chunks.failed
        made = Attempt.of(
            chunk, failure, event=event.id if event else "", attempt=attempt, final=final
        )
        await asyncio.to_thread(self._journal.add, made)
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
        body = event.body
        async with self._locks.setdefault(event.chunk, asyncio.Lock()):
            if isinstance(body, Failed):
                await self.failed(event.chunk, body, event)
            elif not body.key.startswith(payload_prefix(self._plan.run, event.chunk)):
                odd = Failed("PayloadError", "its event names a foreign key", may_heal=True)
                await self.failed(event.chunk, odd, event)
            else:
                await self._fold(event, body)
            # Only now: until the ledger has it, or the journal, the event is all that tells of it,
            # and a good payload is the chunk's only copy.
            await asyncio.to_thread(self._journal.sync)
            await self._events.drop(event)

    async def _fold(self, event: Event, counted: Counted) -> None:
        chunk = event.chunk
        if chunk in self._ledger.chunks:
            # A second attempt, or one that was folded just before a crash.
            again = Attempt.of(chunk, counted, event=event.id, attempt=event.attempt)
            await asyncio.to_thread(self._journal.add, again)
            return
        async with self._room:
            payload = await self._payload(chunk, counted)
            start = time.perf_counter()
            failed = await asyncio.to_thread(self._add, event, counted, payload)
            took = time.perf_counter() - start
        if failed is not None:
            self._spent.add(counted.key)
            await self.failed(chunk, failed, event)
            return
        async with self.still:
            self._chunks.folded(chunk)
            self._gathering.counted(counted, took)

    async def _payload(self, chunk: int, counted: Counted) -> bytes | None:
        """The payload of an event; None if it is gone, or more than a chunk's counts can take."""
        if not self._has_right_size(chunk, counted):
            return None  # it will be refused; what it says of itself bounds nothing
        return await self._payloads.fetch(counted.key, _most(counted))

    def _add(self, event: Event, counted: Counted, payload: bytes | None) -> Failed | None:
        """Put a payload into the ledger and the journal; what is wrong with it, if anything."""
        chunk, start = event.chunk, time.perf_counter()
        if changed := self._plan.changed(chunk):
            return changed
        if payload is None and self._has_right_size(chunk, counted):
            reason = (
                "its counts expired before they were folded, or are larger than "
                f"{_most(counted):,} bytes"
            )
            return Failed("PayloadError", reason, may_heal=True, worker=counted.worker)
        try:
            self._ledger.add(chunk, counted, self._demand_right(chunk, counted, payload))
        except PayloadError as error:
            reason = f"its counts arrived damaged ({error})"
            return Failed("PayloadError", reason, may_heal=True, worker=counted.worker)
        took = time.perf_counter() - start
        self._journal.add(
            Attempt.of(chunk, counted, event=event.id, attempt=event.attempt, fold_seconds=took)
        )
        return None

    def _demand_right(self, chunk: int, counted: Counted, payload: bytes | None) -> bytes:
        if payload is None or not self._has_right_size(chunk, counted):
            raise PayloadError("it is of another number of bytes")
        fingerprint = self._signer.fingerprint(payload)
        if fingerprint and fingerprint != counted.sha256:
            raise PayloadError("the SHA-256 differs")
        return payload

    def _has_right_size(self, chunk: int, counted: Counted) -> bool:
        return counted.bytes_read == self._plan.chunk_bytes(chunk)


def _most(counted: Counted) -> int:
    """Bytes of a payload that is fetched."""
    return min(LARGEST_PAYLOAD, counted.largest)
