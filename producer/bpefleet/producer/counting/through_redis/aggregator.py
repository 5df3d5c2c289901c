"""The aggregator: folds results into the run directory as the workers publish them.

One asyncio loop keeps a bounded window of jobs queued, reads the run's completion events and has
them folded (`fold`). Whatever blocks (disk, hashing, folding, RQ) runs in threads.

An event may be missing: a job that another process declared dead, or a Redis that lost its memory.
Hence the sweep, which compares what should be queued with what is.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError, RedisError

from bpefleet.producer.counting.kinds.work import stores_of
from bpefleet.producer.counting.outages.brief_outages import BriefOutages
from bpefleet.producer.counting.through_redis.fold import Folding
from bpefleet.producer.counting.through_redis.reducing import Reducing, sums_of
from bpefleet.producer.counting.through_redis.requests import Requests
from bpefleet.producer.counting.through_redis.tidying import Tidying
from bpefleet.producer.observing.attempts_seen import AttemptsSeen
from bpefleet.producer.observing.views.live import LiveView
from bpefleet.producer.observing.views.page_detail import PageDetail
from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.queueing.events import Events
from bpefleet.producer.queueing.lane import Lane
from bpefleet.producer.queueing.sweep import Sweep
from bpefleet.producer.queueing.window import Window
from bpefleet.shared.process.amounts import several
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.counting.through_redis.payloads import Payloads
    from bpefleet.producer.queueing.enqueue import Enqueuer

logger = logging.getLogger(__name__)

_BLOCK_MS: Final = 200
"""Milliseconds that a read of the stream waits for an event."""
_GLANCE_SECONDS: Final = 0.1
"""Seconds between two looks for a request to stop."""
_FAREWELL: Final = 3.0
"""Seconds for taking jobs off the queue after a second Ctrl-C."""
_RESULT_SHARE: Final = 0.2
"""Bytes of counts a byte of text, until some are seen: 0.05 in English, 0.24 in many scripts."""
_BETWEEN_MS: Final = 50
"""Milliseconds that a worker takes at most from one chunk's end to the next one's start."""


class Aggregator:
    """Has chunks counted and folded.

    Attributes:
        states: Where each chunk stands.
    """

    def __init__(
        self,
        session: Session,
        *,
        redis: Redis,
        payloads: Payloads,
        enqueuer: Enqueuer,
        upkeep: Callable[[int], str | None],
        reducer: Enqueuer | None = None,
    ) -> None:
        """Put the parts together, each with what it needs.

        Args:
            session: The run.
            redis: An asyncio connection; reads block for a moment.
            payloads: Fetches counts from the same Redis.
            enqueuer: Queues its chunks.
            reducer: Queues what puts counts together in the run's exchange, if it has one.
            upkeep: Called in a thread at each sweep with the number of workers; raises if the run
                cannot go on, and returns what to tell the person if nobody works.
        """
        plan, signer, kind = session.directory.plan, enqueuer.signer, enqueuer.kind
        stores = stores_of(session, signer)
        self.states = ChunkStates(
            kind,
            session.planned,
            session.todo,
            stores[kind.name].stored,
            hold=session.resources.hold,
        )
        lanes = [Lane(self.states, enqueuer)]
        self._reducing: Reducing | None = None
        if reducer is not None and session.elsewhere is not None:
            self._reducing = Reducing(session, session.elsewhere, self.states, signer)
            lanes.insert(0, Lane(self._reducing.states, reducer))
        attempts = AttemptsSeen()
        self._plan = plan
        self._arrived = session.arrived
        self._enqueuer = enqueuer
        self._path = session.directory.path
        self._stop = session.stop
        self._events = Events(redis, plan, signer, sums_of(session))
        self._sweep = Sweep(plan.run, [lane.states for lane in lanes], redis, upkeep, signer.key_id)
        self._requests = Requests(redis, session.directory, signer, session.status.now.session)
        self._outages = BriefOutages()
        self._view = LiveView(
            redis,
            states=self.states,
            sweep=self._sweep,
            ledger=session.counted,
            status=session.status,
            counting=session.counting,
            detail=PageDetail(
                plan.run,
                session.counted,
                self.states,
                attempts,
                self._sweep,
                sums=self._reducing.states if self._reducing else None,
            ),
        )
        self._folding = Folding(
            plan,
            lanes,
            stores=stores,
            journal=session.journal,
            events=self._events,
            payloads=payloads,
            attempts=attempts,
        )
        if kind is COUNT and session.elsewhere is None and plan.chunk_count:
            self._folding.result_bytes = plan.total_bytes / plan.chunk_count * _RESULT_SHARE
        self._window = Window(lanes, lambda: self._folding.result_bytes)
        self._arriving = True
        self._tidying = Tidying(session.ledger)
        self._next_glance = 0.0
        self._halted = False
        self._held = False

    async def run(self) -> None:
        """Count and fold all chunks, except those that fail for good or that a stop leaves."""
        try:
            self._look_what_arrived()
            # What was counted while no producer looked need not be counted again.
            while await self._take(None):
                await self._folding.wait()
            while self._goes_on() or await self._reduces():
                self._tidying.look()
                if self._reducing is not None:
                    await self._reducing.look()
                if glances := self._glances():
                    await self._halt_if_asked()
                with self._outages.bearing():
                    if not await self._window.fill(len(self._sweep.workers)):
                        self._outages.full()
                    # As a chunk ends, its worker is between two. So a sweep waits for a moment in
                    # which none ends, and what it saw is shown before short chunks are over.
                    due = self._sweep.due
                    wait_ms = _BETWEEN_MS if due or self.states.growing else _BLOCK_MS
                    taken = await self._take(None if self._window.filling else wait_ms)
                    if looks := due and (not taken or self._sweep.late):
                        await asyncio.sleep(_BETWEEN_MS / 1000 if taken else 0.0)
                        await self._look_around()
                    if looks or glances:
                        await self._show(looked=looks, quiet=not taken)
            with self._outages.bearing():
                await self._folding.wait()
                await self._tidying.end()
                # The page keeps what this says of failures and timings: no more detail is posted.
                await self._show(looked=True)
        except asyncio.CancelledError:
            await self._folding.leave()
            with suppress(RedisError, TimeoutError):  # it may be away, and nobody waits for it
                async with asyncio.timeout(_FAREWELL):
                    await self._window.withdraw()
                    if self._arrived.given_up:  # nobody will go on with it
                        await asyncio.to_thread(self._enqueuer.forget_run)
            raise
        finally:
            await self._folding.leave()
            self._events.sum_up()
            self._requests.sum_up()
            self._sweep.workers.sum_up()

    def _look_what_arrived(self) -> None:
        """Have the chunks counted that are there by now, of a corpus that arrives."""
        # First: what comes last is there once nothing more comes.
        self._arriving = self._arrived.open
        self.states.arrive(self._plan.chunk_count, more=self._arriving)

    def _glances(self) -> bool:
        """Whether to see after the people now: not at every event, since that takes threads."""
        if self._stop.now or self._arrived.given_up:
            # Before Python 3.12, the cancellation itself may be lost in an `asyncio.wait_for`.
            raise asyncio.CancelledError
        now = asyncio.get_running_loop().time()
        if now < self._next_glance:
            return False
        self._next_glance = now + _GLANCE_SECONDS
        return True

    def _goes_on(self) -> bool:
        """Whether any chunk is left to be folded, or a retry of those that failed is waited for."""
        if self._arriving:
            self._look_what_arrived()
        held, self._held = self._held, self.states.held
        if self._held and not held:
            logger.warning(
                "%s failed and all others are counted; waiting for `bpefleet retry %s`, or "
                "the page; Ctrl-C ends the run",
                several(len(self.states.failed), "chunk"),
                self._path,
            )
        return self.states.unfinished or self._held

    async def _reduces(self) -> bool:
        """Whether anything is left to do after counting, in an exchange."""
        return self._reducing is not None and await self._reducing.goes_on(halted=self._halted)

    async def _halt_if_asked(self) -> None:
        if self._halted or self.states.growing:  # what lets it arrive is asked to stop
            return
        if not await asyncio.to_thread(self._stop.requested):
            return
        self._halted = True
        self.states.halt()
        if self._reducing is not None:
            self._reducing.states.halt()
        await self._window.withdraw()

    async def _take(self, block_ms: int | None) -> bool:
        """Have the next events handled; whether any is being handled."""
        if self._folding.saturated:
            await self._folding.wait(_BETWEEN_MS / 1000)
        else:
            if not self._folding.busy:
                self._events.rewind()
            elif block_ms is not None:
                block_ms = min(block_ms, _BETWEEN_MS)
            self._folding.begin(await self._events.read(block_ms, self._folding.is_known))
        busy = self._folding.busy
        self._folding.check()
        return busy

    async def _look_around(self) -> None:
        await self._requests.follow(self.states, self._stop)
        found = await self._sweep.look(self._events)
        for states, chunk in found.forgotten:
            states.put_back([chunk])
        for states, chunk in found.unannounced:
            # RQ may know how, but what it says is not signed, and counting again loses nothing.
            silent = Failed("SilentEndError", "its job ended without a word", may_heal=True)
            await self._folding.failed(states.kind.name, chunk, silent)
        if self._halted:
            # What a dying worker had taken was put on the queue again, where nobody may take it.
            await self._window.withdraw()

    async def _show(self, *, looked: bool, quiet: bool = False) -> None:
        """Show how far counting is, if it is time for that, or if it was `looked` around just now.

        A glance waits for a `quiet` moment, too, for as long as the people can.
        """
        if not looked:
            if not self._view.due(quiet=quiet):
                await self._view.show_counted()
                return
            await self._sweep.glance()
        try:
            await self._view.show(self._folding.still)
        except OutOfMemoryError:
            # With the window full nothing is queued, and only this tells of it.
            self._outages.full()
        else:
            self._outages.has_room()
