"""The sweep: compares, every few seconds, what should be queued with what Redis has."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rq.utils import str_to_date

from bpefleet.shared.keys import FLEET_WORKER, QUEUE, STAGE_FIELD, events_key, job_id
from bpefleet.shared.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redis.asyncio import Redis

    from bpefleet.producer.plan import Plan
    from bpefleet.producer.watch import Watch

SWEEP_SECONDS: Final = 2.0
_PATIENCE: Final = 0.5
"""Seconds that a sweep waits for a quiet moment."""
_ENDED: Final = (b"finished", b"failed", b"stopped", b"canceled")
_WORKER: Final = "rq:worker:"


@dataclass(slots=True)
class Found:
    """What a sweep found amiss.

    Attributes:
        forgotten: Chunks that Redis knows nothing of: it restarted without persistence, or somebody
            emptied the queue.
        unannounced: Chunks whose job ended a while ago without an event.
    """

    forgotten: list[int] = field(default_factory=list)
    unannounced: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Seen:
    """A worker as Redis tells of it; see `status.WorkerView`."""

    name: str
    host: str
    pid: int
    heard: float
    chunk: int | None = None
    doing: str = ""
    since: float = 0.0


class Sweep:
    """Looks after the queue.

    Attributes:
        running: Chunks that a worker is at, and the worker's name.
        seen: Who serves the queue.
        redis_memory: Bytes that Redis uses.
        unfolded: Events in the run's stream.
    """

    def __init__(
        self, plan: Plan, redis: Redis, upkeep: Callable[[], str | None], watch: Watch
    ) -> None:
        self.running: dict[int, str] = {}
        self.seen: list[Seen] = []
        self.redis_memory = 0
        self.unfolded = 0
        self._plan = plan
        self._redis = redis
        self._upkeep = upkeep
        self._watch = watch
        self._next = time.monotonic()
        self._idle_said = False
        self._strangers: set[str] = set()
        self._suspects: set[int] = set()
        self._since: dict[int, float] = {}

    @property
    def workers(self) -> int:
        """How many workers serve the queue."""
        return len(self.seen)

    @property
    def due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() >= self._next

    @property
    def late(self) -> bool:
        """Whether it can wait no longer for a quiet moment."""
        return time.monotonic() >= self._next + _PATIENCE

    async def look(self, queued: Iterable[int]) -> Found:
        """Sweep once.

        Raises:
            NoWorkersError: The local workers ended unasked.
        """
        idle = await asyncio.to_thread(self._upkeep)
        if idle and not self._idle_said:
            self._watch.warn(idle)
        self._idle_said = bool(idle)
        await self._look_at_workers()
        found = await self._compare(sorted(queued))
        memory: Any = await self._redis.info("memory")
        self.redis_memory = int(memory.get("used_memory", 0))
        self.unfolded = await self._redis.xlen(events_key(self._plan.run))
        self._next = time.monotonic() + SWEEP_SECONDS
        return found

    async def _look_at_workers(self) -> None:
        members: Any = await self._redis.smembers(f"rq:workers:{QUEUE}")
        keys = sorted(members)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.hmget(key, [FLEET_WORKER, "hostname", "pid", "last_heartbeat"])
            answers: list[Any] = await pipeline.execute()
        self.seen = []
        for key, (ours, *rest) in zip(keys, answers, strict=True):
            name = printable(key.decode("utf-8", "replace").removeprefix(_WORKER))
            if any(rest):  # else it expired
                self.seen.append(_seen(name, *rest))
            if any(rest) and not ours and name not in self._strangers:
                self._strangers.add(name)
                self._watch.warn(
                    f"{name} serves the queue and is no bpefleet worker: it runs whatever is "
                    "written to Redis; stop it"
                )

    async def _compare(self, chunks: list[int]) -> Found:
        found = Found()
        self.running = {}
        suspects = set()
        views = {seen.name: seen for seen in self.seen}
        for chunk, (status, worker, stage, place) in (await self._states(chunks)).items():
            if status is None:
                found.forgotten.append(chunk)
            elif status == b"started":
                name = printable((worker or b"").decode("utf-8", "replace"))
                self.running[chunk] = name
                if view := views.get(name):
                    view.chunk = chunk
                    view.doing = printable((stage or b"").decode("utf-8", "replace"))
                    view.since = self._since.setdefault(chunk, time.time())
            elif status in _ENDED or (status == b"queued" and not place):
                suspects.add(chunk)
                # The event of a job that just ended may be on its way, and a job is on no list for
                # a moment while a worker takes it: act at the second sight.
                if chunk in self._suspects:
                    (found.unannounced if status in _ENDED else found.forgotten).append(chunk)
        self._suspects = suspects
        self._since = {chunk: self._since.get(chunk, time.time()) for chunk in self.running}
        return found

    async def _states(self, chunks: list[int]) -> dict[int, tuple[Any, Any, Any, bool]]:
        """For each chunk its job's status, worker and stage, and whether the queue lists it."""
        lists = (f"rq:queue:{QUEUE}", f"rq:queue:{QUEUE}:intermediate")
        async with self._redis.pipeline(transaction=False) as pipeline:
            for chunk in chunks:
                name = job_id(self._plan.run, chunk)
                pipeline.hmget(f"rq:job:{name}", ["status", "worker_name", STAGE_FIELD])
                for key in lists:
                    pipeline.lpos(key, name)
            answers: list[Any] = await pipeline.execute()
        return {
            chunk: (*answers[3 * i], any(at is not None for at in answers[3 * i + 1 : 3 * i + 3]))
            for i, chunk in enumerate(chunks)
        }


def _seen(name: str, host: bytes | None, pid: bytes | None, heard: bytes | None) -> Seen:
    """A worker by the fields of its hash, which anyone may have written."""
    try:
        when = str_to_date(heard or b"").timestamp() if heard else 0.0
    except ValueError:
        when = 0.0
    number = int(pid) if pid and pid.isdigit() else 0
    return Seen(name, printable((host or b"").decode("utf-8", "replace")), number, when)
