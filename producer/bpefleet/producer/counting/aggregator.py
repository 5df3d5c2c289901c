"""The aggregator: folds counts into the ledger as the workers publish them.

One asyncio loop keeps a bounded window of jobs queued, reads the run's completion events and has
them settled (`fold`). Whatever blocks (disk, hashing, folding, RQ) runs in threads.

An event may be missing: a job that another process declared dead, or a Redis that lost its memory.
Hence the sweep, which compares what should be queued with what is.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError, RedisError

from bpefleet.producer.counting.brief_outages import Hiccups
from bpefleet.producer.counting.fold import Folding
from bpefleet.producer.counting.requests import Requests
from bpefleet.producer.observing.page_detail import Gathering
from bpefleet.producer.observing.posting import post
from bpefleet.producer.queueing.chunks import Chunks
from bpefleet.producer.queueing.events import Events
from bpefleet.producer.queueing.sweep import Sweep
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

    from bpefleet.producer.counting.payloads import Payloads
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.queueing.enqueue import Enqueuer
    from bpefleet.shared.wire.status import Snapshot

_WINDOW_PER_WORKER: Final = 3
"""Jobs in Redis for each worker: one that it is at, and two that wait."""
_MIN_WINDOW: Final = 4
"""Jobs in Redis at least."""
_BLOCK_MS: Final = 200
"""Milliseconds that a read of the stream waits for an event."""
_GLANCE_SECONDS: Final = 0.1
"""Seconds between two looks for a request to stop."""
_FULL_PAUSE: Final = 1.0
"""Seconds until a job is queued again after Redis was full."""
_AT_ONCE: Final = 128
"""Jobs that are queued at once, in some tens of milliseconds."""
_FAREWELL: Final = 3.0
"""Seconds for taking jobs off the queue after a second Ctrl-C."""

_BETWEEN_MS: Final = 50
"""Milliseconds in which a worker goes from one chunk to the next, and counts are folded."""


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
        payloads: Payloads,
        enqueuer: Enqueuer,
        upkeep: Callable[[int], str | None],
    ) -> None:
        """Prepare to count.

        Args:
            session: The run.
            redis: An asyncio connection; reads block for a moment.
            payloads: Fetches counts from the same Redis.
            enqueuer: Queues its chunks.
            upkeep: Called in a thread at each sweep with the number of workers; raises if the run
                cannot go on, and returns what to tell the person if nobody works.
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
        self._sweep = Sweep(
            plan, redis, upkeep, session.watch.warn, enqueuer.signer.key_id, enqueuer.kind
        )
        self._requests = Requests(
            redis, plan.run, session.directory.path, enqueuer.signer, session.watch
        )
        self._gathering = Gathering(plan.run, len(plan.chunks))
        self._hiccups = Hiccups(session.watch.warn)
        self._folding = Folding(
            session,
            chunks=self.chunks,
            events=self._events,
            payloads=payloads,
            gathering=self._gathering,
            signer=enqueuer.signer,
            kind=enqueuer.kind,
        )
        self._next_glance = 0.0
        self._full_until = 0.0
        self._full_said = False
        self._filling = False

    async def run(self) -> None:
        """Count and fold all chunks, except those that fail for good or that a stop leaves."""
        try:
            # What was counted while no producer looked need not be counted again.
            while await self._take(None):
                await self._folding.wait()
            while self.chunks.unfinished or self._holds():
                if glances := self._glances():
                    await self._halt_if_asked()
                with self._hiccups.bearing():
                    await self._fill_window()
                    # As a chunk ends, its worker is between two. So a sweep waits for a moment in
                    # which none ends, and what it saw is shown before short chunks are over.
                    due = self._sweep.due
                    taken = await self._take(self._wait_ms(due=due))
                    if looks := due and (not taken or self._sweep.late):
                        await asyncio.sleep(_BETWEEN_MS / 1000 if taken else 0.0)
                        await self._look_around()
                    if looks or glances:
                        await self._show(looked=looks, quiet=not taken)
            with self._hiccups.bearing():
                await self._folding.wait()
                # The page keeps what this says of failures and timings: no more detail is posted.
                await self._show(looked=True)
        except asyncio.CancelledError:
            await self._folding.leave()
            with suppress(RedisError, TimeoutError):  # it may be away, and nobody waits for it
                async with asyncio.timeout(_FAREWELL):
                    await self._withdraw()
            raise
        finally:
            await self._folding.leave()
            self._events.sum_up()
            self._requests.sum_up()
            self._sweep.sum_up()

    def _wait_ms(self, *, due: bool) -> int | None:
        """How long to wait for events."""
        if self._filling:
            return None  # there is more to be queued
        return _BETWEEN_MS if due else _BLOCK_MS

    def _glances(self) -> bool:
        """Whether to see after the people now: not at every event, since that takes threads."""
        if self._session.stop.now:
            # Before Python 3.12, the cancellation itself may be lost in an `asyncio.wait_for`.
            raise asyncio.CancelledError
        now = asyncio.get_running_loop().time()
        if now < self._next_glance:
            return False
        self._next_glance = now + _GLANCE_SECONDS
        return True

    def _holds(self) -> bool:
        """Whether to wait for a retry, now that nothing but failed chunks is left."""
        holding = self._session.resources.hold and bool(self.chunks.failed) and not self._halted
        if holding:
            self._watch.held(self.chunks)
        return holding

    async def _halt_if_asked(self) -> None:
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
        now = asyncio.get_running_loop().time()
        self._filling = False
        if now < self._full_until:
            return
        window = max(_MIN_WINDOW, _WINDOW_PER_WORKER * self._sweep.workers)
        room = min(_AT_ONCE, window - len(self.chunks.queued))
        chunks = self.chunks.take(room, now)
        if not chunks:
            return
        try:
            for chunk, attempt in (await asyncio.to_thread(self._enqueuer.put, chunks)).items():
                self.chunks.placed(chunk, attempt)
        except OutOfMemoryError:
            self._say_full()
            self._full_until = now + _FULL_PAUSE
            self.chunks.put_back(chunks)
        else:
            self._full_until = 0.0
            self._filling = len(chunks) == _AT_ONCE

    async def _take(self, block_ms: int | None) -> bool:
        """Have the next events settled; whether any is in hand."""
        if self._folding.saturated:
            await self._folding.wait(_BETWEEN_MS / 1000)
        else:
            if not self._folding.in_hand:
                self._events.rewind()
            elif block_ms is not None:
                block_ms = min(block_ms, _BETWEEN_MS)
            self._folding.begin(await self._events.read(block_ms, self._folding.has_settled))
        in_hand = self._folding.in_hand > 0
        self._folding.check()
        return in_hand

    async def _look_around(self) -> None:
        await self._requests.follow(self.chunks, self._session)
        found = await self._sweep.look(self._folding.awaited, self._events)
        self.chunks.put_back(found.forgotten)
        for chunk in found.unannounced:
            # RQ may know how, but its word is not signed, and nothing is lost by counting again.
            silent = Failed("SilentEndError", "its job ended without a word", may_heal=True)
            await self._folding.failed(chunk, silent)
        if self._halted:
            # What a dying worker had taken was put on the queue again, where nobody may take it.
            await self._withdraw()

    async def _show(self, *, looked: bool, quiet: bool = False) -> None:
        """Show how far counting is, if it is time for that, or if it was `looked` around just now.

        A glance waits for a `quiet` moment, too, for as long as the people can.
        """
        now = looked
        if not looked and self._watch.due and (quiet or self._watch.late):
            await self._sweep.glance(self._folding.awaited)
            now = True
        async with self._folding.still if now else nullcontext():
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
        with self._ledger.still:
            view = self._watch.counting(
                self._ledger, self.chunks, self._sweep, now=now, done=self._folding.settled
            )
            if view is None:
                return None, b"", b""
            detail = self._gathering.detail(
                self._ledger, self.chunks, self._sweep, self._folding.settled
            )
        return view, view.to_bytes(), detail.to_bytes()
