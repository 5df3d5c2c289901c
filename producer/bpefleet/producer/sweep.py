"""The sweep: compares, every few seconds, what should be queued with what Redis has."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.keys import FLEET_WORKER, QUEUE, job_id
from bpefleet.shared.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redis.asyncio import Redis

    from bpefleet.producer.plan import Plan
    from bpefleet.producer.watch import Watch

SWEEP_SECONDS: Final = 2.0
_ENDED: Final = (b"finished", b"failed", b"stopped", b"canceled")


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


class Sweep:
    """Looks after the queue.

    Attributes:
        workers: How many serve it.
        running: Chunks that a worker is at, and the worker's name.
    """

    def __init__(
        self, plan: Plan, redis: Redis, upkeep: Callable[[], str | None], watch: Watch
    ) -> None:
        self.workers = 0
        self.running: dict[int, str] = {}
        self._plan = plan
        self._redis = redis
        self._upkeep = upkeep
        self._watch = watch
        self._next = 0.0
        self._idle_said = False
        self._strangers: set[bytes] = set()
        self._suspects: set[int] = set()

    @property
    def due(self) -> bool:
        """Whether it is time for the next."""
        return time.monotonic() >= self._next

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
        self._next = time.monotonic() + SWEEP_SECONDS
        return found

    async def _look_at_workers(self) -> None:
        members: Any = await self._redis.smembers(f"rq:workers:{QUEUE}")
        names = sorted(members)
        self.workers = len(names)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hexists(name, FLEET_WORKER)
                pipeline.exists(name)
            answers: list[Any] = await pipeline.execute()
        for name, ours, there in zip(names, answers[::2], answers[1::2], strict=True):
            if there and not ours and name not in self._strangers:
                self._strangers.add(name)
                self._watch.warn(
                    f"{printable(name.decode('utf-8', 'replace'))} serves the queue and is no "
                    "bpefleet worker: it runs whatever is written to Redis; stop it"
                )

    async def _compare(self, chunks: list[int]) -> Found:
        found = Found()
        self.running = {}
        suspects = set()
        for chunk, (status, worker, place) in (await self._states(chunks)).items():
            if status is None:
                found.forgotten.append(chunk)
            elif status == b"started":
                self.running[chunk] = (worker or b"").decode()
            elif status in _ENDED or (status == b"queued" and not place):
                suspects.add(chunk)
                # The event of a job that just ended may be on its way, and a job is on no list for
                # a moment while a worker takes it: act at the second sight.
                if chunk in self._suspects:
                    (found.unannounced if status in _ENDED else found.forgotten).append(chunk)
        self._suspects = suspects
        return found

    async def _states(self, chunks: list[int]) -> dict[int, tuple[Any, Any, bool]]:
        """For each chunk its job's status and worker, and whether it is on a list of the queue."""
        lists = (f"rq:queue:{QUEUE}", f"rq:queue:{QUEUE}:intermediate")
        async with self._redis.pipeline(transaction=False) as pipeline:
            for chunk in chunks:
                name = job_id(self._plan.run, chunk)
                pipeline.hmget(f"rq:job:{name}", ["status", "worker_name"])
                for key in lists:
                    pipeline.lpos(key, name)
            answers: list[Any] = await pipeline.execute()
        return {
            chunk: (*answers[3 * i], any(at is not None for at in answers[3 * i + 1 : 3 * i + 3]))
            for i, chunk in enumerate(chunks)
        }
