"""Settles events: a chunk's result goes into the run directory, or into the journal why not.

How a result is settled is its kind's to say (`kinds`); here is what all kinds have in common.

Several events at once: while one payload is written to disk, the next is fetched. Those of one
chunk are settled one after the other, as they came.

RQ delivers at least once, so all of this is idempotent by chunk.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from bpefleet.producer.counting.kinds import WORK
from bpefleet.producer.queueing.chunks import RETRIES
from bpefleet.producer.store.history import FAILED, Attempt
from bpefleet.shared.wire.keys import payload_prefix
from bpefleet.shared.wire.kinds import COUNT, KINDS
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bpefleet.producer.counting.payloads import Payloads
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.observing.page_detail import Gathering
    from bpefleet.producer.queueing.chunks import Chunks
    from bpefleet.producer.queueing.events import Events
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.event import Event
    from bpefleet.shared.wire.kinds import Kind, Result

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
        kind: Kind = COUNT,
    ) -> None:
        """Prepare to fold.

        Args:
            session: The run.
            chunks: Told what becomes of each chunk.
            events: Where events come from, and are dropped once settled.
            payloads: Fetches what events name.
            gathering: Told, for those who look on.
            signer: Says what a payload's fingerprint must be.
            kind: What is done with `chunks`. Events of other kinds, late ones, are settled, too.
        """
        self._plan = session.directory.plan
        self._kind = kind
        self._kinds = {name: work.settles(session, signer) for name, work in WORK.items()}
        self._journal = session.journal
        self._watch = session.watch
        self._chunks = chunks
        self._events = events
        self._payloads = payloads
        self._gathering = gathering
        self.still = asyncio.Lock()
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._spent: set[str] = set()
        """Keys of payloads that were of no use, and are gone."""

    @property
    def settled(self) -> Collection[int]:
        """The chunks whose results are in the run directory."""
        return self._kinds[self._kind.name].settled

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
        chunk, body, kind = event.chunk, event.body, event.kind
        if isinstance(body, Failed):
            under_way = self._is_own(event) and self._chunks.is_under_way(chunk, event.attempt)
            return not under_way and self._journal.has(chunk, event.attempt, FAILED, kind)
        if chunk in self._kinds[kind].settled:
            return self._journal.has(chunk, event.attempt, KINDS[kind].done, kind)
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
        if event and not self._is_own(event):
            await asyncio.to_thread(self._journal.add, _attempt(event, failure))
            return
        attempt = event.attempt if event else self._chunks.under_way(chunk)
        now = asyncio.get_running_loop().time()
        async with self.still:
            pause = self._chunks.ended(chunk, failure, now, attempt if event else None)
            if not self._journal.has(chunk, attempt, FAILED, self._kind.name):
                self._gathering.failed(failure)
            final = chunk in self._chunks.failed
        made = Attempt.of(
            chunk,
            failure,
            event=event.id if event else "",
            attempt=attempt,
            final=final,
            job=self._kind.name,
        )
        await asyncio.to_thread(self._journal.add, made)
        if pause is not None:
            what = failure.error.partition("\n")[0]
            self._watch.warn(
                f"chunk {chunk} ({self._plan.describe(chunk)}): {what}; "
                f"it is {self._kind.done} again, retry {self._chunks.attempts(chunk)} of {RETRIES}"
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
            elif body.key and not body.key.startswith(self._prefix(event)):
                odd = Failed("PayloadError", "its event names a foreign key", may_heal=True)
                await self.failed(event.chunk, odd, event)
            else:
                await self._fold(event, body)
            # Only now: until the run directory has it, the event is all that tells of it,
            # and a good payload is the chunk's only copy.
            await asyncio.to_thread(self._journal.sync)
            await self._events.drop(event)

    def _is_own(self, event: Event) -> bool:
        """Whether it is of the kind of job that this session has done."""
        return event.kind == self._kind.name

    def _prefix(self, event: Event) -> str:
        return payload_prefix(self._plan.run, event.chunk, event.kind)

    async def _fold(self, event: Event, result: Result) -> None:
        chunk = event.chunk
        if chunk in self._kinds[event.kind].settled:
            # A second attempt, or one that was folded just before a crash.
            await asyncio.to_thread(self._journal.add, _attempt(event, result))
            return
        async with self._room:
            payload = await self._payload(event, result)
            start = time.perf_counter()
            failed = await asyncio.to_thread(self._add, event, result, payload)
            took = time.perf_counter() - start
        if failed is not None:
            if result.key:
                self._spent.add(result.key)
            await self.failed(chunk, failed, event)
        elif self._is_own(event):
            async with self.still:
                self._chunks.folded(chunk)
                self._gathering.done(result, took)

    async def _payload(self, event: Event, result: Result) -> bytes | None:
        """The payload of an event; None if it is gone, larger than it can be, or not wanted."""
        largest = self._kinds[event.kind].largest(event.chunk, result)
        return await self._payloads.fetch(result.key, largest) if result.key and largest else None

    def _add(self, event: Event, result: Result, payload: bytes | None) -> Failed | None:
        """Settle a result and take it down; what is wrong with it, if anything."""
        start = time.perf_counter()
        failed = self._kinds[event.kind].add(event.chunk, result, payload)
        if failed is None:
            self._journal.add(_attempt(event, result, fold_seconds=time.perf_counter() - start))
        return failed


def _attempt(event: Event, end: Result | Failed, **facts: Any) -> Attempt:
    return Attempt.of(
        event.chunk, end, event=event.id, attempt=event.attempt, job=event.kind, **facts
    )
