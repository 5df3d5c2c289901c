"""The sweep: compares, every few seconds, what should be queued with what Redis has.

A job that ends leaves its event in the stream, in the same MULTI. The event may wait there for as
long as folding takes. So a job that is seen to have ended is called unannounced only after the
stream was read up to where it ended at that moment. The same goes for a job that Redis no longer
has: it may have ended long ago.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bpefleet.producer.queueing.batches import answers_async, batches
from bpefleet.producer.queueing.serving.workers_seen import WorkersSeen
from bpefleet.shared.process.text import printable
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import REFUSED_FIELD, STAGE_FIELD, events_key, job_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from redis.asyncio import Redis

    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.events import Events, Place

logger = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 2.0
_SHARE: Final = 4
"""A sweep is followed by so many times its own length without one."""
_PATIENCE: Final = 0.5
"""Seconds that a sweep waits for a quiet moment."""
_SLICE: Final = 10_000
"""Entries of the queue that are read at once."""
_GLANCED: Final = 1000
"""Chunks that a glance looks at, at the most."""
_NAMED_AT_ONCE: Final = 4096
"""Jobs whose names are made at once, in some milliseconds."""
_NO_EVICTION: Final = "noeviction"
_FIELDS: Final = [rq_keys.STATUS, rq_keys.WORKER_NAME, STAGE_FIELD, REFUSED_FIELD]


Unit: TypeAlias = "tuple[ChunkStates, int]"
"""A chunk, and the states that it is of."""


@dataclass(slots=True)
class Found:
    """What a sweep found amiss.

    Attributes:
        forgotten: Chunks that Redis knows nothing of: it restarted without persistence, or somebody
            emptied the queue. Also those that a worker refused for having another key: that was no
            attempt.
        unannounced: Chunks whose job ended without an event.
    """

    forgotten: list[Unit] = field(default_factory=list)
    unannounced: list[Unit] = field(default_factory=list)


class Sweep:
    """Looks after the queue.

    Attributes:
        workers: Who serves the queue.
        redis_memory: Bytes that Redis uses.
        unfolded: Events in the run's stream.
    """

    def __init__(
        self,
        run: str,
        states: Sequence[ChunkStates],
        redis: Redis,
        upkeep: Callable[[int], str | None],
        key_id: str = "",
    ) -> None:
        self.workers = WorkersSeen(redis, key_id)
        self.redis_memory = 0
        self.unfolded = 0
        self._run = run
        self._states = states
        self._redis = redis
        self._upkeep = upkeep
        self._next = time.monotonic()
        self._idle_said = False
        self._eviction_said = False
        self._misplaced: set[Unit] = set()
        self._marks: dict[Unit, Place] = {}

    @property
    def full(self) -> list[float]:
        """For each chunk and sum that finds the exchange full: since when, in Unix seconds."""
        return [since for states in self._states for since in states.retries.full.values()]

    @property
    def due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() >= self._next

    @property
    def late(self) -> bool:
        """Whether it can wait no longer for a quiet moment."""
        return time.monotonic() >= self._next + _PATIENCE

    async def look(self, events: Events) -> Found:
        """Sweep once, over the chunks in flight of which no event has come.

        Raises:
            NoWorkersError: The local workers ended unasked.
        """
        start = time.monotonic()
        await self.workers.look()
        idle = await asyncio.to_thread(self._upkeep, len(self.workers))
        if idle and not self._idle_said:
            logger.warning("%s", idle)
        self._idle_said = bool(idle)
        found = await self._compare(self._awaited, events)
        await self._look_at_memory()
        self.unfolded = await self._redis.xlen(events_key(self._run))
        end = time.monotonic()
        self._next = end + max(SWEEP_SECONDS, _SHARE * (end - start))
        return found

    async def _look_at_memory(self) -> None:
        memory: Any = await self._redis.info("memory")
        self.redis_memory = int(memory.get("used_memory", 0))
        policy = memory.get("maxmemory_policy", _NO_EVICTION)
        if memory.get("maxmemory") and policy != _NO_EVICTION and not self._eviction_said:
            self._eviction_said = True
            logger.warning(
                "Redis throws away jobs, workers' names and counts when it is full "
                "(maxmemory-policy %s); they are made again, which takes time: set noeviction",
                policy,
            )

    async def glance(self) -> None:
        """Look between two sweeps which chunks workers are at. That is only for people to see."""
        if len(units := self._awaited) > _GLANCED:
            return
        found = await self._jobs(units)
        started = {
            unit: (_text(fields[1]), _text(fields[2]))
            for unit, fields in zip(units, found, strict=True)
            if fields and fields[0] == rq_keys.STARTED
        }
        if not self.workers.names.issuperset(worker for worker, _ in started.values()):
            await self.workers.look()
        self._seen_at_work(started)

    @property
    def _awaited(self) -> list[Unit]:
        return [(states, chunk) for states in self._states for chunk in states.awaited]

    def _seen_at_work(self, started: Mapping[Unit, tuple[str, str]]) -> None:
        for states in self._states:
            at = {chunk: seen for (of, chunk), seen in started.items() if of is states}
            states.seen_at_work(at)

    async def _compare(self, units: list[Unit], events: Events) -> Found:
        found = Found()
        started = {}
        ended: dict[Unit, bool] = {}
        misplaced: set[Unit] = set()
        for unit, is_taken, fields in await self._jobs_off_the_queue(units):
            status, worker, stage, refused = fields
            if status == rq_keys.FAILED and refused is not None:
                found.forgotten.append(unit)
                self.workers.other_keys.refused(_text(refused))
            elif status is None or status in rq_keys.ENDED:
                ended[unit] = status is not None
            elif status == rq_keys.STARTED:
                started[unit] = _text(worker), _text(stage)
            elif status == rq_keys.QUEUED and not is_taken:
                misplaced.add(unit)
        for unit in await self._silent(ended, events):
            (found.unannounced if ended[unit] else found.forgotten).append(unit)
        # Another producer's upkeep may have moved it from one list to the other meanwhile.
        found.forgotten += [unit for unit in units if unit in misplaced & self._misplaced]
        self._misplaced = misplaced
        self._seen_at_work(started)
        return found

    async def _silent(self, ended: Iterable[Unit], events: Events) -> list[Unit]:
        """Of the chunks whose job ended, those whose event is not in what is still to be read."""
        unread = await events.unread()
        if unread is None:
            self._marks = {}
            return list(ended)
        first, newest = unread
        # A stream that was begun anew may have lesser ids than the one before.
        self._marks = {unit: min(self._marks.get(unit, newest), newest) for unit in ended}
        return [unit for unit, mark in self._marks.items() if mark < first]

    async def _jobs_off_the_queue(
        self, units: list[Unit]
    ) -> list[tuple[Unit, bool, list[bytes | None]]]:
        """Each chunk that waits on the queue no more, and its job.

        Of a job: whether it is on its way to a worker, and its `_FIELDS`. Read in the
        order in which a job passes through them, so that none is missed on its way: the queue, the
        list of jobs that are taken, the job's own hash.
        """
        names: dict[Unit, bytes] = {}
        for some in batches(units, _NAMED_AT_ONCE):
            names.update((unit, self._job(unit).encode()) for unit in some)
            await asyncio.sleep(0)  # others have their turn
        waiting = await self._listed(rq_keys.WAITING)
        taken = await self._listed(rq_keys.TAKEN)
        others = [unit for unit in units if names[unit] not in waiting]
        found = await self._jobs(others)
        return [
            (unit, names[unit] in taken, fields or [None] * len(_FIELDS))
            for unit, fields in zip(others, found, strict=True)
        ]

    async def _jobs(self, units: list[Unit]) -> list[Any]:
        """Of each chunk's job its status, worker, stage, and the key of who refused it."""
        return await answers_async(
            self._redis,
            units,
            lambda pipeline, unit: pipeline.hmget(rq_keys.job_key(self._job(unit)), _FIELDS),
        )

    def _job(self, unit: Unit) -> str:
        states, chunk = unit
        return job_id(self._run, chunk, states.kind.name)

    async def _listed(self, key: str) -> set[bytes]:
        """What is on a list of RQ's.

        Read from the end on: entries are taken from the head, and those left keep their distance
        from the end or grow it, so that none is passed over.
        """
        found: set[bytes] = set()
        end = -1
        while True:
            part: Any = await self._redis.lrange(key, end - _SLICE + 1, end)
            found.update(part)
            if len(part) < _SLICE:
                return found
            end -= _SLICE


def _text(field: bytes | None) -> str:
    return printable((field or b"").decode("utf-8", "replace"))
