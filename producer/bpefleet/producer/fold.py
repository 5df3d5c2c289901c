"""The aggregator: folds counts into the ledger as the workers publish them.

One asyncio loop keeps a bounded window of jobs queued, reads the run's completion events, fetches
payloads and has them folded. Whatever blocks (disk, hashing, folding, RQ) runs in threads.

RQ delivers at least once, so everything here is idempotent by chunk. An event may also be missing:
a job that another process declared dead, or a Redis that lost its memory. Hence the sweep, which
compares what should be queued with what is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import orjson
from redis.exceptions import OutOfMemoryError

from bpefleet.kernel import PayloadError
from bpefleet.producer.attempts import Attempt
from bpefleet.producer.board import post
from bpefleet.producer.chunks import RETRIES, Chunks
from bpefleet.producer.detail import Gathering
from bpefleet.producer.events import Events
from bpefleet.producer.hiccups import Hiccups
from bpefleet.producer.requests import Requests
from bpefleet.producer.sweep import Sweep
from bpefleet.shared.keys import LARGEST_PAYLOAD, payload_prefix
from bpefleet.shared.messages import Counted, Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

    from bpefleet.producer.enqueue import Enqueuer
    from bpefleet.producer.session import Session
    from bpefleet.shared.event import Event
    from bpefleet.shared.status import Snapshot

_WINDOW_PER_WORKER: Final = 3
_MIN_WINDOW: Final = 4
_BLOCK_MS: Final = 200
_FULL_PAUSE: Final = 1.0
_BETWEEN_MS: Final = 50
"""In which a worker goes from one chunk to the next."""


class Aggregator:
    """Has chunks counted and folded.

    Attributes:
        chunks: Where each chunk stands.
    """

    def __init__(
        self,
        session: Session,
        *,
        redis: Redis,
        enqueuer: Enqueuer,
        upkeep: Callable[[], str | None],
    ) -> None:
        """Prepare to count.

        Args:
            session: The run.
            redis: An asyncio connection; reads block for a moment.
            enqueuer: Queues its chunks.
            upkeep: Called in a thread at each sweep; raises if the run cannot go on, and returns
                what to tell the person if nobody works.
        """
        self.chunks = Chunks(session.todo)
        self._session = session
        self._plan = plan = session.directory.plan
        self._ledger = session.ledger
        self._watch = session.watch
        self._redis = redis
        self._enqueuer = enqueuer
        self._halted = False
        self._events = Events(redis, plan, enqueuer.signer, session.watch.warn)
        self._sweep = Sweep(plan, redis, upkeep, session.watch)
        self._requests = Requests(
            redis, plan.run, session.directory.path, enqueuer.signer, session.watch.warn
        )
        self._gathering = Gathering(plan.run, len(plan.chunks))
        self._hiccups = Hiccups(session.watch.warn)
        self._folding = asyncio.Lock()
        self._full_until = 0.0
        self._full_said = False

    async def run(self) -> None:
        """Count and fold all chunks, except those that fail for good or that a stop leaves."""
        try:
            # What was counted while no producer looked need not be counted again.
            await self._take_all(None)
            while self.chunks.unfinished or self._holds():
                await self._halt_if_asked()
                with self._hiccups.bearing():
                    await self._fill_window()
                    # As a chunk ends, its worker is between two. So a sweep waits for a moment in
                    # which none ends, and what it saw is shown before short chunks are over.
                    due = self._sweep.due
                    taken = await self._take_all(_BETWEEN_MS if due else _BLOCK_MS)
                    if looks := due and (not taken or self._sweep.late):
                        await asyncio.sleep(_BETWEEN_MS / 1000 if taken else 0.0)
                        await self._look_around()
                    await self._show(now=looks)
            with self._hiccups.bearing():
                # The page keeps what this says of failures and timings: no more detail is posted.
                await self._show(now=True)
        except asyncio.CancelledError:
            await self._withdraw()
            raise
        finally:
            self._events.sum_up()
            self._requests.sum_up()

    def _holds(self) -> bool:
        """Whether to wait for a retry, now that nothing but failed chunks is left."""
        holding = self._session.resources.hold and bool(self.chunks.failed) and not self._halted
        if holding:
            self._watch.held(self.chunks)
        return holding

    async def _halt_if_asked(self) -> None:
        if self._session.stop.now:
            # Before Python 3.12, the cancellation itself may be lost in an `asyncio.wait_for`.
            raise asyncio.CancelledError
        if self._halted or not await asyncio.to_thread(self._session.stop.requested):
            return
        self._halted = True
        self.chunks.halt()
        await self._withdraw()

    async def _withdraw(self) -> None:
        """Take off the queue what no worker has taken; the rest is waited for."""
        withdrawn = await asyncio.to_thread(self._enqueuer.withdraw, sorted(self.chunks.queued))
        self.chunks.put_back(withdrawn)

    async def _fill_window(self) -> None:
        now = self._now()
        if now < self._full_until:
            return
        window = max(_MIN_WINDOW, _WINDOW_PER_WORKER * self._sweep.workers)
        chunks = self.chunks.take(window - len(self.chunks.queued), now)
        left = set(chunks)
        try:
            for chunk in chunks:
                self.chunks.placed(chunk, await asyncio.to_thread(self._enqueuer.put, chunk))
                left.discard(chunk)
        except OutOfMemoryError:
            self._say_full()
            self._full_until = now + _FULL_PAUSE
            self.chunks.put_back(left)
        else:
            self._full_until = 0.0

    async def _take_all(self, block_ms: int | None) -> int:
        """Settle the next events; how many."""
        events = await self._events.read(block_ms)
        await asyncio.gather(*(self._take(event) for event in events))
        return len(events)

    async def _take(self, event: Event) -> None:
        if isinstance(event.body, Counted):
            await self._fold(event, event.body)
        else:
            await self._failed(event.chunk, event.body, event)
        # Only now: until the ledger has it, or the journal, the event is all that tells of it.
        await self._events.drop(event)

    async def _fold(self, event: Event, counted: Counted) -> None:
        chunk = event.chunk
        if not counted.key.startswith(payload_prefix(self._plan.run, chunk)):
            # Nobody of ours wrote that: the key may be anything, and is left alone.
            odd = Failed("PayloadError", "its event names a foreign key", may_heal=True)
            await self._failed(chunk, odd, event)
            return
        payload = await self._payload(counted.key)
        # Another attempt at the chunk may have been folded already: then this one only goes.
        if chunk not in self._ledger.chunks:
            start = self._now()
            if changed := await asyncio.to_thread(self._plan.changed, chunk):
                await self._failed(chunk, changed, event)
            elif (reason := await self._fold_payload(chunk, counted, payload)) is None:
                self.chunks.folded(chunk)
                took = self._now() - start
                self._gathering.counted(counted, took)
                await self._note(Attempt.of(chunk, counted, event=event.id, fold_seconds=took))
            else:
                lost = Failed("PayloadError", reason, may_heal=True, worker=counted.worker)
                await self._failed(chunk, lost, event)
        else:  # a second attempt, or one that was folded just before a crash
            await self._note(Attempt.of(chunk, counted, event=event.id))
        # Only now: until the ledger has it, a good payload is the chunk's only copy.
        await self._redis.delete(counted.key)

    async def _note(self, attempt: Attempt) -> None:
        await asyncio.to_thread(self._session.journal.add, attempt)

    async def _payload(self, key: str) -> bytes | None:
        if await self._redis.strlen(key) > LARGEST_PAYLOAD:
            return None
        payload: Any = await self._redis.get(key)
        return bytes(payload) if payload is not None else None

    async def _fold_payload(
        self, chunk: int, counted: Counted, payload: bytes | None
    ) -> str | None:
        """Fold a payload off the loop; what is wrong with it, if anything."""
        if payload is None:
            return (
                "its counts expired before they were folded, or are larger than "
                f"{LARGEST_PAYLOAD:,} bytes"
            )
        async with self._folding:
            try:
                await asyncio.to_thread(self._check_and_add, chunk, counted, payload)
            except PayloadError as error:
                return f"its counts arrived damaged ({error})"
        return None

    def _check_and_add(self, chunk: int, counted: Counted, payload: bytes) -> None:
        fingerprint = self._enqueuer.signer.fingerprint(payload)
        if fingerprint and fingerprint != counted.sha256:
            raise PayloadError("the SHA-256 differs")
        if counted.bytes_read != self._plan.chunk_bytes(chunk):
            raise PayloadError("it is of another number of bytes")
        self._ledger.add(chunk, counted, payload)

    async def _failed(self, chunk: int, failure: Failed, event: Event | None = None) -> None:
        """Take down a failed attempt, and say so if the chunk is counted again.

        Without an event it is the attempt under way that failed.
        """
        attempt_ = event.attempt if event else None
        pause = self.chunks.ended(chunk, failure, self._now(), attempt_)
        self._gathering.failed(failure)
        final = chunk in self.chunks.failed
        attempt = Attempt.of(chunk, failure, event=event.id if event else "", final=final)
        await asyncio.to_thread(self._session.journal.add, attempt)
        if pause is not None:
            what = failure.error.partition("\n")[0]
            self._watch.warn(
                f"chunk {chunk} ({self._plan.describe(chunk)}): {what}; it is counted again, "
                f"retry {self.chunks.attempts(chunk)} of {RETRIES}"
                + (f" in {pause:.0f} s" if pause else ""),
                chunk=chunk,
                attempt=self.chunks.attempts(chunk),
                worker=failure.worker,
            )

    async def _look_around(self) -> None:
        await self._requests.follow(self.chunks, self._session)
        found = await self._sweep.look(self.chunks.queued)
        self.chunks.put_back(found.forgotten)
        for chunk in found.unannounced:
            # RQ may know how, but its word is not signed, and nothing is lost by counting again.
            silent = Failed("SilentEndError", "its job ended without a word", may_heal=True)
            await self._failed(chunk, silent)
        if self._halted:
            # What a dying worker had taken was put on the queue again, where nobody may take it.
            await self._withdraw()

    async def _show(self, *, now: bool) -> None:
        """Show how far counting is, if it is time for that, or `now`."""
        view, snapshot, detail = await asyncio.to_thread(self._views, now)
        if view is not None:
            try:
                async with self._redis.pipeline(transaction=False) as pipeline:
                    post(pipeline, self._plan.run, view, snapshot, detail)
                    await pipeline.execute()
            except OutOfMemoryError:
                # With the window full nothing is queued, and only this tells of it.
                self._say_full()
            else:
                self._full_said = False

    def _say_full(self) -> None:
        if not self._full_said:
            self._watch.warn("Redis is full (maxmemory); waiting for room")
        self._full_said = True

    def _views(self, now: bool) -> tuple[Snapshot | None, bytes, bytes]:  # noqa: FBT001
        view = self._watch.counting(self._ledger, self.chunks, self._sweep, now=now)
        if view is None:
            return None, b"", b""
        detail = self._gathering.detail(self._ledger, self.chunks, self._sweep)
        return view, orjson.dumps(view), orjson.dumps(detail)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
