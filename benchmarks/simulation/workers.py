"""Generated workers: `python -m benchmarks.simulation.workers URL SCENARIO PATTERN TEXT KEY`.

One process is all of them. It sends for each chunk what a worker and its work-horse send, command
by command as Redis's MONITOR shows it, but for MULTI and EXEC and for the connection that each
work-horse makes; many workers' commands travel together. Counting itself is left out: an attempt
ends when its time is over. `tests/benchmarks/test_simulation.py` holds the commands to those of a
real worker.
"""

from __future__ import annotations

import heapq
import os
import random
import sys
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.simulation.attempt import Attempt, began, counted_by, ended, left
from benchmarks.simulation.corpus import answers
from benchmarks.simulation.exchanging import Exchanging
from benchmarks.simulation.scenario import Scenario
from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.queue.jobs import HEARTBEAT
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import read_key
from bpefleet.shared.wire import keys, rq_keys
from bpefleet.shared.wire.failures import LOST_AFTER
from bpefleet.shared.wire.keys import QUEUE
from bpefleet.worker.worker import FleetWorker

if TYPE_CHECKING:
    from redis.client import Pipeline

    from bpefleet.shared.redis.connect import FleetRedis
    from bpefleet.shared.wire.messages import Counted, Reduced

_AT_ONCE: Final = 256
"""Attempts whose commands travel together."""
_PAUSE: Final = 0.005
_STRAGGLES: Final = 10


class GeneratedWorkers:
    """So many workers, and what they are at."""

    def __init__(
        self, redis: FleetRedis, scenario: Scenario, text: Path | None, pattern: str
    ) -> None:
        self._redis = redis
        self._scenario = scenario
        self._answers = answers(scenario.payloads, text, pattern)
        self._payloads: dict[str, list[bytes]] = {}
        self._fields = _fields(redis)
        self._born = 0
        self._idle: deque[str] = deque(self._new() for _ in range(scenario.workers))
        self._alive = set(self._idle)
        self._running: list[tuple[float, int, Attempt]] = []
        self._chance = random.Random(1)
        self._heard = 0.0
        self._taken = 0
        self._exchanging = Exchanging(redis.signer)
        self._sums: list[Attempt] = []

    def serve(self) -> None:
        """Serve until killed."""
        while True:
            self._give_signs_of_life()
            busy = self._take() + self._end()
            if not busy:
                time.sleep(_PAUSE)

    def _new(self) -> str:
        self._born += 1
        return f"simulated-host{self._born % 256:03}-{self._born}"

    def _give_signs_of_life(self) -> None:
        now = time.monotonic()
        if now < self._heard + HEARTBEAT:
            return
        self._heard = now
        alive = sorted(self._alive)
        for start in range(0, len(alive), _AT_ONCE):
            with self._redis.pipeline(transaction=False) as pipeline:
                for name in alive[start : start + _AT_ONCE]:
                    self._heartbeat(pipeline, name)
                pipeline.execute()
        attempts = [*self._sums, *(attempt for _, _, attempt in self._running)]
        for start in range(0, len(attempts), _AT_ONCE):
            with self._redis.pipeline(transaction=False) as pipeline:
                for attempt in attempts[start : start + _AT_ONCE]:
                    if attempt.worker in self._alive:
                        attempt.heartbeat(pipeline)
                pipeline.execute()

    def _look_for_work(self, pipeline: Pipeline, name: str) -> None:
        """What RQ's loop says between two jobs."""
        self._heartbeat(pipeline, name)
        key = rq_keys.worker_key(name)
        pipeline.hset(key, "last_heartbeat", _now())
        pipeline.expire(key, LOST_AFTER)
        pipeline.expire(f"{key}:executions", LOST_AFTER)
        pipeline.exists("rq:suspended")
        pipeline.hset(key, "state", "idle")
        self._heartbeat(pipeline, name)

    def _heartbeat(self, pipeline: Pipeline, name: str) -> None:
        key, now = rq_keys.worker_key(name), _now()
        host = name.rpartition("-")[0]
        pipeline.hset(key, mapping=self._fields | {"last_heartbeat": now, "hostname": host})
        pipeline.sadd("rq:workers", key)
        pipeline.sadd(rq_keys.WORKERS, key)
        pipeline.hset(key, "last_heartbeat", now)
        pipeline.expire(key, LOST_AFTER)
        pipeline.expire(f"{key}:executions", LOST_AFTER)

    def _take(self) -> int:
        """Begin what is queued and somebody has time for."""
        if not (room := min(len(self._idle), _AT_ONCE)):
            return 0
        with self._redis.pipeline(transaction=False) as pipeline:
            for _ in range(room):
                pipeline.lmove(rq_keys.WAITING, rq_keys.TAKEN, "LEFT", "RIGHT")
            jobs = [job for job in pipeline.execute() if job]
        with self._redis.pipeline(transaction=False) as pipeline:
            for job in jobs:
                pipeline.hgetall(rq_keys.job_key(job))
            found = pipeline.execute()
        with self._redis.pipeline(transaction=False) as pipeline:
            for job, fields in zip(jobs, found, strict=True):
                if fields:
                    self._begin(pipeline, job.decode(), fields)
            pipeline.execute()
        return len(jobs)

    def _begin(self, pipeline: Pipeline, job: str, fields: dict[bytes, bytes]) -> None:
        scenario, now = self._scenario, time.monotonic()
        name = self._idle.popleft()
        answer = self._answers[self._taken % len(self._answers)]
        attempt = Attempt(job, name, fields, answer)
        self._heartbeat(pipeline, name)
        began(pipeline, attempt)
        seconds = scenario.seconds or answer.seconds
        if self._chance.random() < scenario.stragglers:
            seconds *= _STRAGGLES
        self._taken += 1
        if self._chance.random() < scenario.deaths:
            self._alive.discard(name)
            self._idle.append(new := self._new())
            self._alive.add(new)
            return
        if attempt.kind == keys.REDUCE:
            self._exchanging.begin(attempt)
            self._sums.append(attempt)
            return
        heapq.heappush(self._running, (now + seconds, self._taken, attempt))

    def _end(self) -> int:
        """End what is due."""
        due: list[Attempt] = []
        now = time.monotonic()
        most = 8 if self._scenario.payloads.endswith("64") else _AT_ONCE
        while self._running and self._running[0][0] <= now and len(due) < most:
            due.append(heapq.heappop(self._running)[2])
        over = [attempt for attempt in self._sums if self._exchanging.is_over(attempt)]
        self._sums = [attempt for attempt in self._sums if attempt not in over]
        if due := over + due:
            with self._redis.pipeline(transaction=False) as pipeline:
                for attempt in due:
                    ended(pipeline, attempt, self._told(pipeline, attempt), self._redis.signer)
                    self._look_for_work(pipeline, attempt.worker)
                    self._idle.append(attempt.worker)
                pipeline.execute()
        return len(due)

    def _told(self, pipeline: Pipeline, attempt: Attempt) -> Counted | Reduced:
        """What a worker says, after it left its counts."""
        if attempt.kind == keys.REDUCE:
            return self._exchanging.reduced(attempt)
        payload, signer = self._payload(attempt), self._redis.signer
        if not attempt.spec.get("exchange"):
            return left(pipeline, attempt, payload, signer)
        return counted_by(attempt, payload, signer, self._exchanging.leave(attempt, payload))

    def _payload(self, attempt: Attempt) -> bytes:
        digest = attempt.digest if attempt.run not in self._payloads else ""
        if digest:
            self._payloads[attempt.run] = [answer.payload(digest) for answer in self._answers]
        return self._payloads[attempt.run][self._answers.index(attempt.answer)]


def _fields(redis: FleetRedis) -> dict[Any, Any]:
    """What a real worker has in its hash."""
    worker = FleetWorker(QUEUE, connection=redis, name="simulated")
    worker.register_birth()  # type: ignore[no-untyped-call]
    fields = worker.serialize()
    worker.register_death()  # type: ignore[no-untyped-call]
    return fields


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def main(url: str, scenario: str, pattern: str, text: str, key: str) -> None:
    """Serve a Redis until killed, or until whoever started this ends."""
    die_with(os.getppid())
    signer = read_key(Path(key) if key else None)
    with connect(url, signer) as redis:
        asked = Scenario.from_json(scenario)
        GeneratedWorkers(redis, asked, Path(text) if text else None, pattern).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
