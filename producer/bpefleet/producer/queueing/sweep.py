"""The sweep: compares, every few seconds, what should be queued with what Redis has.

A job that ended has left its event in the stream, in the same MULTI. So it ended without a word
only if the stream was read since, as far as it went then; until that its event may be waiting, for
as long as folding takes. The same goes for a job that Redis forgot: it may have ended long ago.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bpefleet.producer.queueing.batches import answers_async
from bpefleet.producer.queueing.other_keys import OtherKeys
from bpefleet.producer.queueing.workers import seen_workers
from bpefleet.shared.process.amounts import several
from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import printable
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import REFUSED_FIELD, STAGE_FIELD, events_key, job_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redis.asyncio import Redis

    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.events import Events, Place
    from bpefleet.producer.queueing.workers import Seen

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
_NAMED: Final = 10
"""Workers that are named at once when they join or leave."""
_FIELDS: Final = [rq_keys.STATUS, rq_keys.WORKER_NAME, STAGE_FIELD, REFUSED_FIELD]


@dataclass(slots=True)
class Found:
    """What a sweep found amiss.

    Attributes:
        forgotten: Chunks that Redis knows nothing of: it restarted without persistence, or somebody
            emptied the queue. Also those that a worker refused for having another key: that was no
            attempt.
        unannounced: Chunks whose job ended without an event.
    """

    forgotten: list[int] = field(default_factory=list)
    unannounced: list[int] = field(default_factory=list)


class Sweep:
    """Looks after the queue.

    Attributes:
        seen: Who serves the queue.
        redis_memory: Bytes that Redis uses.
        unfolded: Events in the run's stream.
    """

    def __init__(
        self,
        run: str,
        states: ChunkStates,
        redis: Redis,
        upkeep: Callable[[int], str | None],
        key_id: str = "",
    ) -> None:
        self.seen: list[Seen] = []
        self.redis_memory = 0
        self.unfolded = 0
        self._run = run
        self._states = states
        self._redis = redis
        self._upkeep = upkeep
        self._odd = RepeatedWarnings(
            logger, "workers of the queue are no bpefleet workers; stop them"
        )
        self._next = time.monotonic()
        self._idle_said = False
        self._known: set[str] = set()
        self._strangers: set[str] = set()
        self._other_keys = OtherKeys(key_id)
        self._misplaced: set[int] = set()
        self._marks: dict[int, Place] = {}

    @property
    def workers(self) -> int:
        """How many workers of the fleet serve the queue, with the run's key."""
        return sum(self._other_keys.ours(seen) for seen in self.seen)

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
        await self._look_for_workers()
        self._warn_of_strangers()
        self._other_keys.look(self.seen)
        idle = await asyncio.to_thread(self._upkeep, self.workers)
        if idle and not self._idle_said:
            logger.warning("%s", idle)
        self._idle_said = bool(idle)
        found = await self._compare(self._states.awaited, events)
        memory: Any = await self._redis.info("memory")
        self.redis_memory = int(memory.get("used_memory", 0))
        self.unfolded = await self._redis.xlen(events_key(self._run))
        end = time.monotonic()
        self._next = end + max(SWEEP_SECONDS, _SHARE * (end - start))
        return found

    async def glance(self) -> None:
        """See between two sweeps which chunks a worker is at: for people, and nothing follows."""
        if len(chunks := self._states.awaited) > _GLANCED:
            return
        found = await self._jobs(chunks)
        started = {
            chunk: (_text(fields[1]), _text(fields[2]))
            for chunk, fields in zip(chunks, found, strict=True)
            if fields and fields[0] == rq_keys.STARTED
        }
        if {worker for worker, _ in started.values()} - {seen.name for seen in self.seen}:
            await self._look_for_workers()
        self._states.seen_at_work(started)

    def sum_up(self) -> None:
        """Say how many strangers there were, if that was not said of each."""
        self._odd.sum_up()
        self._other_keys.sum_up()

    async def _look_for_workers(self) -> None:
        self.seen = await seen_workers(self._redis)
        names = {seen.name for seen in self.seen if self._other_keys.ours(seen)}
        _log_workers("joined", names - self._known)
        _log_workers("left", self._known - names)
        self._known = names

    def _warn_of_strangers(self) -> None:
        for seen in self.seen:
            if not seen.is_ours and seen.name not in self._strangers:
                self._strangers.add(seen.name)
                self._odd.tell(
                    f"{seen.name} serves the queue and is no bpefleet worker: it runs whatever is "
                    "written to Redis; stop it",
                    worker=seen.name,
                )

    async def _compare(self, chunks: list[int], events: Events) -> Found:
        found = Found()
        started = {}
        ended: dict[int, bool] = {}
        misplaced: set[int] = set()
        for chunk, is_taken, fields in await self._jobs_off_the_queue(chunks):
            status, worker, stage, refused = fields
            if status == rq_keys.FAILED and refused is not None:
                found.forgotten.append(chunk)
                self._other_keys.refused(_text(refused))
            elif status is None or status in rq_keys.ENDED:
                ended[chunk] = status is not None
            elif status == rq_keys.STARTED:
                started[chunk] = _text(worker), _text(stage)
            elif status == rq_keys.QUEUED and not is_taken:
                misplaced.add(chunk)
        for chunk in await self._silent(ended, events):
            (found.unannounced if ended[chunk] else found.forgotten).append(chunk)
        # Another producer's upkeep may have moved it from one list to the other meanwhile.
        found.forgotten += sorted(misplaced & self._misplaced)
        self._misplaced = misplaced
        self._states.seen_at_work(started)
        return found

    async def _silent(self, ended: Iterable[int], events: Events) -> list[int]:
        """Of the chunks whose job ended, those whose event is not in what is still to be read."""
        unread = await events.unread()
        if unread is None:
            self._marks = {}
            return list(ended)
        first, newest = unread
        # A stream that was begun anew may have lesser ids than the one before.
        self._marks = {chunk: min(self._marks.get(chunk, newest), newest) for chunk in ended}
        return [chunk for chunk, mark in self._marks.items() if mark < first]

    async def _jobs_off_the_queue(
        self, chunks: list[int]
    ) -> list[tuple[int, bool, list[bytes | None]]]:
        """Each chunk that waits on the queue no more, and its job.

        Of a job: whether it is on its way to a worker, and its `_FIELDS`. Read in the
        order in which a job goes, lest one is missed on its way: the queue, the list between, its
        own hash.
        """
        names = {chunk: self._job(chunk).encode() for chunk in chunks}
        waiting = await self._listed(rq_keys.WAITING)
        taken = await self._listed(rq_keys.TAKEN)
        others = [chunk for chunk in chunks if names[chunk] not in waiting]
        found = await self._jobs(others)
        return [
            (chunk, names[chunk] in taken, fields or [None] * len(_FIELDS))
            for chunk, fields in zip(others, found, strict=True)
        ]

    async def _jobs(self, chunks: list[int]) -> list[Any]:
        """Of each chunk's job its status, worker, stage, and the key of who refused it."""
        return await answers_async(
            self._redis,
            chunks,
            lambda pipeline, chunk: pipeline.hmget(rq_keys.job_key(self._job(chunk)), _FIELDS),
        )

    def _job(self, chunk: int) -> str:
        return job_id(self._run, chunk, self._states.kind.name)

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


def _log_workers(what: str, names: set[str]) -> None:
    """Say which workers joined or left; of many at once, only how many."""
    if len(names) > _NAMED:
        logger.info("%s %s", several(len(names), "worker"), what)
        return
    for name in sorted(names):
        logger.info("worker %s %s", name, what, extra={"worker": name})


def _text(field: bytes | None) -> str:
    return printable((field or b"").decode("utf-8", "replace"))
