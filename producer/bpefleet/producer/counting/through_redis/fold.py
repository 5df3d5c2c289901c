"""Handles events: puts a chunk's result into the run directory, and its attempt into the history.

How a result is stored is its kind's to say (`kinds`); here is what all kinds have in common.

Several events are handled at once: while one payload is written to disk, the next is fetched. Those
with small payloads go together, so that each costs little more than its bytes. Those of one chunk
are handled one after the other, as they came. An event is acknowledged, which removes it from
Redis, once the run directory has what it told.

RQ delivers at least once, so all of this is idempotent by chunk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakValueDictionary

from bpefleet.producer.queueing.retries import RETRIES
from bpefleet.producer.store.history import FAILED, Attempt
from bpefleet.shared.errors import FullError
from bpefleet.shared.wire.kinds import KINDS, REDUCE
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bpefleet.producer.counting.kinds.work import Stores
    from bpefleet.producer.counting.through_redis.payloads import Payloads
    from bpefleet.producer.observing.attempts_seen import AttemptsSeen
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.producer.queueing.events import Events
    from bpefleet.producer.queueing.lane import Lane
    from bpefleet.producer.store.history import Journal
    from bpefleet.shared.wire.event import Event
    from bpefleet.shared.wire.kinds import Result

logger = logging.getLogger(__name__)

Unit: TypeAlias = "tuple[str, int]"
"""A kind of job, and a chunk."""
_TELL_AGAIN: Final = 60.0
"""Seconds after which it is told again that the run waits for room."""
_AT_ONCE: Final = 2
"""Payloads in memory."""
_MOST: Final = 64
"""Events that are handled at once."""
_SMALL: Final = 64 << 10
"""Bytes of a payload that goes together with others: all of them are no more than one large one."""


class Folding:
    """Handles the events that it is given.

    Attributes:
        still: Held while the states of chunks change, and while a thread reads them.
        result_bytes: Bytes of Redis that a result takes, on average; before the first one is
            fetched, what whoever made this expects.
    """

    def __init__(
        self,
        plan: Plan,
        lanes: Sequence[Lane],
        *,
        stores: Mapping[str, Stores[Any]],
        journal: Journal,
        events: Events,
        payloads: Payloads,
        attempts: AttemptsSeen,
    ) -> None:
        """Prepare to fold.

        Args:
            plan: The run.
            lanes: Their states are told what becomes of each chunk.
            stores: By kind of job, what puts results into the run directory. Events of other kinds
                than those of the lanes, late ones, are handled, too.
            journal: The history of attempts.
            events: Where events come from, and are acknowledged.
            payloads: Fetches what events name.
            attempts: Sums them up for those who look on.
        """
        self._plan = plan
        self._lanes = {lane.states.kind.name: lane for lane in lanes}
        self._stores = stores
        self._journal = journal
        self._events = events
        self._payloads = payloads
        self._attempts = attempts
        self.still = asyncio.Lock()
        self.result_bytes = 0.0
        self._results = 0
        self._tasks: dict[tuple[str, Unit], asyncio.Task[None]] = {}
        self._locks: WeakValueDictionary[Unit, asyncio.Lock] = WeakValueDictionary()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._told_until = 0.0
        self._spent: set[str] = set()
        """Keys of payloads that were of no use, and are gone."""

    @property
    def busy(self) -> bool:
        """Whether any event is being handled."""
        return bool(self._tasks)

    @property
    def saturated(self) -> bool:
        """Whether to read no more events for now.

        So it is when too many are being handled, or when those are of all the chunks that are left.
        """
        all_answered = all(lane.states.all_answered for lane in self._lanes.values())
        return len(self._tasks) >= _MOST or (bool(self._tasks) and all_answered)

    def is_known(self, event: Event) -> bool:
        """Whether all that an event tells is noted already: it came again."""
        chunk, body, kind = event.chunk, event.body, event.kind
        if kind not in self._stores:  # no job of this run
            return True
        if isinstance(body, Failed):
            lane = self._lanes.get(kind)
            in_flight = lane is not None and lane.states.is_in_flight(chunk, event.attempt)
            return not in_flight and self._journal.has(chunk, event.attempt, FAILED, kind)
        if chunk in self._stores[kind].stored:
            return self._journal.has(chunk, event.attempt, KINDS[kind].done, kind)
        return body.key in self._spent

    def begin(self, events: Iterable[Event]) -> None:
        """Begin to handle events, but for those that are being handled already."""
        new = [event for event in events if (event.id, _unit(event)) not in self._tasks]
        busy = Counter(map(_unit, new)) + Counter(unit for _, unit in self._tasks)
        small = [
            event
            for event in new
            if busy[_unit(event)] == 1 and not isinstance(event.body, Failed)
            # What is not in Redis takes no memory here.
            if event.body.size <= _SMALL or not event.body.key
        ]
        for group in ([small] if small else []) + [[e] for e in new if e not in small]:
            task = asyncio.create_task(self._handle(group))
            for event in group:
                self._tasks[event.id, _unit(event)] = task
                if lane := self._lanes.get(event.kind):
                    lane.states.answered(event.chunk)

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until an event is handled, or, without a time, until all are.

        Raises:
            BpefleetError: The ledger or the journal cannot be written.
            RedisError: Redis is lost.
        """
        until = asyncio.ALL_COMPLETED if seconds is None else asyncio.FIRST_COMPLETED
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds, return_when=until)
        self.check()

    def check(self) -> None:
        """Forget the events that are handled. Raises as `wait`; the event is then read again."""
        for task in dict.fromkeys(task for task in self._tasks.values() if task.done()):
            for name in [name for name, of in self._tasks.items() if of is task]:
                del self._tasks[name]
                kind, chunk = name[1]
                if lane := self._lanes.get(kind):
                    lane.states.acknowledged(chunk)
            if task.exception() is not None:
                self._events.rewind()
            task.result()

    async def leave(self) -> None:
        """Give up what is being handled: those events are read again the next time."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def failed(
        self, kind: str, chunk: int, failure: Failed, event: Event | None = None
    ) -> None:
        """Note a failed attempt in the history, and log it if the chunk is tried again.

        Without an event it is the attempt in flight that failed.
        """
        lane = self._lanes.get(kind)
        if lane is None:
            if event is not None:
                await asyncio.to_thread(self._journal.add, _attempt(event, failure))
            return
        await self._failed(lane, chunk, failure, event)

    async def _failed(self, lane: Lane, chunk: int, failure: Failed, event: Event | None) -> None:
        states, kind, describe = lane.states, lane.states.kind, lane.enqueuer.describe
        attempt = event.attempt if event else states.attempt(chunk)
        now = asyncio.get_running_loop().time()
        async with self.still:
            pause = states.fail(chunk, failure, now, attempt if event else None)
            if not self._journal.has(chunk, attempt, FAILED, kind.name):
                self._attempts.failed(failure)
            final = chunk in states.failed
        made = Attempt.of(
            chunk,
            failure,
            event=event.id if event else "",
            attempt=attempt,
            final=final,
            job=kind.name,
        )
        await asyncio.to_thread(self._journal.add, made)
        if pause is not None:
            what = failure.error.partition("\n")[0]
            number = states.retries.failed(chunk)
            waits = failure.kind == FullError.__name__
            told = waits and now < self._told_until
            if waits and not told:  # all workers say so
                self._told_until = now + _TELL_AGAIN
            logger.log(
                logging.DEBUG if told else logging.WARNING,
                "%s (%s): %s; it is %s again, %s%s",
                kind.unit(chunk),
                describe(chunk),
                what,
                kind.done,
                "as often as it takes" if waits else f"retry {number} of {RETRIES}",
                f" in {pause:.0f} s" if pause else "",
                extra={"chunk": chunk, "attempt": number, "worker": failure.worker},
            )
        elif final:
            # The run's error, or what it waits for, says so again.
            text, what = "%s (%s) is given up: %s", failure.error.partition("\n")[0]
            about = {"chunk": chunk, "worker": failure.worker}
            logger.info(text, kind.unit(chunk), describe(chunk), what, extra=about)

    async def _handle(self, events: Sequence[Event]) -> None:
        """Handle events of different chunks together."""
        async with AsyncExitStack() as locks:
            for event in events:
                lock = self._locks.setdefault(_unit(event), asyncio.Lock())
                await locks.enter_async_context(lock)
            results: list[tuple[Event, Result]] = []
            for event in events:
                if isinstance(event.body, Failed):
                    await self.failed(event.kind, event.chunk, event.body, event)
                elif event.body.key and not event.payload(self._plan.run):
                    odd = Failed("PayloadError", "its event names a foreign key", may_heal=True)
                    await self.failed(event.kind, event.chunk, odd, event)
                else:
                    results.append((event, event.body))
            await self._fold(results)
            # Only now: until the run directory has it, the event is all that tells of it,
            # and a good payload is the chunk's only copy.
            await asyncio.to_thread(self._journal.sync)
            await self._events.acknowledge(events)
            for event in events:
                logger.debug("event %s is acknowledged", event.id, extra={"chunk": event.chunk})

    async def _fold(self, results: Sequence[tuple[Event, Result]]) -> None:
        new: list[tuple[Event, Result]] = []
        for event, result in results:
            if event.chunk in self._stores[event.kind].stored:
                # A second attempt, or one that was folded just before a crash.
                await asyncio.to_thread(self._journal.add, _attempt(event, result))
            else:
                new.append((event, result))
        if not new:
            return
        async with self._room:
            payloads = await self._fetched(new)
            start = time.perf_counter()
            found = await asyncio.to_thread(self._add, new, payloads)
            took = (time.perf_counter() - start) / len(new)
        for (event, result), failed in zip(new, found, strict=True):
            await self._note(event, result, failed, took)

    async def _fetched(self, results: Iterable[tuple[Event, Result]]) -> dict[str, bytes]:
        """The payloads by key; those left out are gone, larger than they can be, or not wanted."""
        wanted: dict[str, int] = {}
        for event, result in results:
            largest = self._stores[event.kind].largest(event.chunk, result)
            if result.key and largest:
                wanted[result.key] = largest
        payloads = await self._payloads.fetch(wanted) if wanted else {}
        for event, result in results:
            size = len(payloads.get(result.key, b""))
            self._results += 1
            self.result_bytes += (size - self.result_bytes) / self._results
            about = {"chunk": event.chunk, "worker": result.worker, "bytes": size}
            logger.debug("the payload of chunk %d is fetched", event.chunk, extra=about)
        return payloads

    def _add(
        self, results: Sequence[tuple[Event, Result]], payloads: Mapping[str, bytes]
    ) -> list[Failed | None]:
        """Store results and note them in the history; for each, what is wrong with it, if anything.

        Raises:
            OutputError: It cannot be written. What is stored comes again, and is noted then.
        """
        kinds: dict[str, list[tuple[int, Result, bytes | None]]]
        kinds = {event.kind: [] for event, _ in results}
        for event, result in results:
            kinds[event.kind].append((event.chunk, result, payloads.get(result.key)))
        start = time.perf_counter()
        wrong = {
            (kind, each[0]): failed
            for kind, items in kinds.items()
            for each, failed in zip(items, self._stores[kind].add(items), strict=True)
        }
        took = (time.perf_counter() - start) / len(results)
        found = [wrong[event.kind, event.chunk] for event, _ in results]
        for (event, result), failed in zip(results, found, strict=True):
            if failed is None:
                self._journal.add(_attempt(event, result, fold_seconds=took))
        return found

    async def _note(self, event: Event, result: Result, failed: Failed | None, took: float) -> None:
        """Say of a result that it is stored, or why not."""
        chunk = event.chunk
        if failed is not None:
            if result.key:
                self._spent.add(result.key)
            await self.failed(event.kind, chunk, failed, event)
        elif lane := self._lanes.get(event.kind):
            states, kind = lane.states, lane.states.kind
            async with self.still:
                states.fold(chunk)
                if kind is not REDUCE:  # people are told of what is done with the text
                    self._attempts.done(result, took)
                folded, total = len(states.folded), states.total
            about = {"chunk": chunk, "worker": result.worker, "seconds": round(took, 6)}
            logger.debug("%s %d is folded", kind.noun, chunk, extra=about)
            if folded == (total + 1) // 2 and not states.growing and kind is not REDUCE:
                logger.info("half of the chunks are %s", kind.done)


def _unit(event: Event) -> Unit:
    return event.kind, event.chunk


def _attempt(event: Event, end: Result | Failed, **facts: Any) -> Attempt:
    return Attempt.of(
        event.chunk, end, event=event.id, attempt=event.attempt, job=event.kind, **facts
    )
