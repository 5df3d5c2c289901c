"""Generated workers: `python -m benchmarks.simulation.workers URL SCENARIO PATTERN TEXT KEY`.

One process is all of them. It sends for each chunk what a worker and its work-horse send, command
by command as Redis's MONITOR shows it, but for MULTI, EXEC and WATCH, for the connection that each
work-horse makes, and for how a worker waits for a job; many workers' commands travel together.
Counting itself is left out: an attempt ends when its time is over.
`tests/benchmarks/test_simulation.py` holds the commands to those of a real worker.
"""

from __future__ import annotations

import heapq
import os
import random
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.simulation.attempt import Attempt, Worker, counted_by, moment
from benchmarks.simulation.commands import Line, Script, word
from benchmarks.simulation.corpus import answers
from benchmarks.simulation.exchanging import Exchanging
from benchmarks.simulation.scenario import SMALL, Scenario
from bpefleet.producer.queueing.batches import batches
from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.queue.jobs import HEARTBEAT
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import read_key
from bpefleet.shared.wire import keys, rq_keys
from bpefleet.shared.wire.failures import LOST_AFTER
from bpefleet.shared.wire.keys import QUEUE
from bpefleet.worker.worker import REGISTERED_FOR, FleetWorker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bpefleet.shared.redis.connect import FleetRedis
    from bpefleet.shared.wire.messages import Counted, Reduced

_AT_ONCE: Final = 256
"""Attempts whose commands travel together."""
_LARGE_AT_ONCE: Final = 8
"""Likewise of those with large payloads."""
_PAUSE: Final = 0.005
_STRAGGLES: Final = 10
_LLEN: Final = Script(f"LLEN {rq_keys.WAITING}").said({})
_LMOVE: Final = Script(f"LMOVE {rq_keys.WAITING} {rq_keys.TAKEN} LEFT RIGHT").said({})
_HGETALL: Final = b"*2\r\n" + word("HGETALL")
_LOOKS_FOR_WORK: Final = Script(
    "HSET {worker} last_heartbeat {date}",
    f"EXPIRE {{worker}} {LOST_AFTER}",
    f"EXPIRE {{at}} {LOST_AFTER}",
    "EXISTS rq:suspended",
    "HSET {worker} state idle",
)
"""What RQ's loop says between two jobs."""


class GeneratedWorkers:
    """So many workers, and what they are at."""

    def __init__(
        self, redis: FleetRedis, line: Line, scenario: Scenario, text: Path | None, pattern: str
    ) -> None:
        self._signer = redis.signer
        self._line = line
        self._scenario = scenario
        self._answers = answers(scenario.payloads, text, pattern)
        self._payloads: dict[str, list[bytes]] = {}
        self._specs: dict[str, dict[str, Any]] = {}
        self._registers = _registration(redis)
        self._born = 0
        self._idle: deque[Worker] = deque(self._new() for _ in range(scenario.workers))
        self._alive = {worker.name: worker for worker in self._idle}
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

    def _new(self) -> Worker:
        self._born += 1
        return Worker(f"simulated-host{self._born % 256:03}-{self._born}")

    def _give_signs_of_life(self) -> None:
        now = time.monotonic()
        if now < self._heard + HEARTBEAT:
            return
        self._heard = now
        attempts = [*self._sums, *(attempt for _, _, attempt in self._running)]
        busy = [attempt for attempt in attempts if attempt.worker.name in self._alive]
        for some in batches(busy, _AT_ONCE):
            words = moment()
            self._line.say([attempt.lives(words) for attempt in some])
        for those in batches(self._idle, _AT_ONCE):
            words = moment()
            self._line.say([self._heartbeat(worker, words) for worker in those])

    def _heartbeat(self, worker: Worker, now: Mapping[bytes, bytes]) -> bytes:
        """What an idle worker says; nothing if it said so just now."""
        if time.monotonic() < worker.heard + REGISTERED_FOR:
            return b""
        worker.heard = time.monotonic()
        return self._registers.said({**worker.words, **now})

    def _take(self) -> int:
        """Begin what is queued and somebody has time for."""
        if not (room := min(len(self._idle), _AT_ONCE)):
            return 0
        # A real worker waits in BLMOVE. None of these asks in vain.
        (queued,) = self._line.ask([_LLEN])
        room = min(room, int(queued))  # type: ignore[arg-type]
        jobs: list[Any] = [job for job in self._line.ask([_LMOVE] * room) if job]
        found: list[Any] = self._line.ask(_HGETALL + word(rq_keys.job_key(job)) for job in jobs)
        now = moment()
        self._line.say(
            said
            for job, fields in zip(jobs, found, strict=True)
            if fields
            for said in self._begin(job.decode(), _pairs(fields), now)
        )
        return len(jobs)

    def _begin(
        self, job: str, fields: Mapping[bytes, bytes], words: Mapping[bytes, bytes]
    ) -> Iterator[bytes]:
        scenario, now = self._scenario, time.monotonic()
        worker = self._idle.popleft()
        answer = self._answers[self._taken % len(self._answers)]
        attempt = Attempt(job, worker, fields, answer)
        yield self._heartbeat(worker, words)
        yield attempt.begins(words)
        seconds = scenario.seconds or answer.seconds
        if self._chance.random() < scenario.stragglers:
            seconds *= _STRAGGLES
        self._taken += 1
        if self._chance.random() < scenario.deaths:
            del self._alive[worker.name]
            self._idle.append(new := self._new())
            self._alive[new.name] = new
        elif attempt.kind == keys.REDUCE:
            self._exchanging.begin(attempt)
            self._sums.append(attempt)
        else:
            heapq.heappush(self._running, (now + seconds, self._taken, attempt))

    def _end(self) -> int:
        """End what is due."""
        due: list[Attempt] = []
        now = time.monotonic()
        most = _AT_ONCE if self._scenario.payloads in SMALL else _LARGE_AT_ONCE
        while self._running and self._running[0][0] <= now and len(due) < most:
            due.append(heapq.heappop(self._running)[2])
        over = [attempt for attempt in self._sums if self._exchanging.is_over(attempt)]
        self._sums = [attempt for attempt in self._sums if attempt not in over]
        if due := over + due:
            words = moment()
            self._line.say(said for attempt in due for said in self._ended(attempt, words))
            self._idle.extend(attempt.worker for attempt in due)
        return len(due)

    def _ended(self, attempt: Attempt, words: Mapping[bytes, bytes]) -> Iterator[bytes]:
        """What a worker says at an attempt's end: where its counts are, and that it is idle."""
        end: Counted | Reduced
        if attempt.kind == keys.REDUCE:
            end = self._exchanging.reduced(attempt)
        elif self._said_to(attempt).get("exchange"):
            payload = self._payload(attempt)
            file = self._exchanging.leave(attempt, payload)
            end = counted_by(attempt, payload, self._signer, file)
        else:
            payload = self._payload(attempt)
            end = counted_by(attempt, payload, self._signer)
            yield attempt.leaves(end, payload)
        yield attempt.ends(words, end, self._signer)
        yield self._heartbeat(attempt.worker, words)
        yield _LOOKS_FOR_WORK.said({**attempt.worker.words, **words})

    def _said_to(self, attempt: Attempt) -> dict[str, Any]:
        """What a chunk's worker is told of the run, which is the same for all of them."""
        if attempt.run not in self._specs:
            self._specs[attempt.run] = attempt.spec
        return self._specs[attempt.run]

    def _payload(self, attempt: Attempt) -> bytes:
        if attempt.run not in self._payloads:
            digest = str(self._said_to(attempt)["digest"])
            self._payloads[attempt.run] = [answer.payload(digest) for answer in self._answers]
        return self._payloads[attempt.run][self._answers.index(attempt.answer)]


def _registration(redis: FleetRedis) -> Script:
    """What a real worker without a job says every few seconds."""
    worker = FleetWorker(QUEUE, connection=redis, name="simulated")
    worker.register_birth()  # type: ignore[no-untyped-call]
    fields = worker.serialize()
    worker.register_death()  # type: ignore[no-untyped-call]
    own = {"last_heartbeat", "hostname"}
    said = [str(part) for item in fields.items() if item[0] not in own for part in item]
    return Script(
        ["HSET", "{worker}", *said, "last_heartbeat", "{date}", "hostname", "{host}"],
        "SADD rq:workers {worker}",
        f"SADD {rq_keys.WORKERS} {{worker}}",
        "HSET {worker} last_heartbeat {date}",
        f"EXPIRE {{worker}} {LOST_AFTER}",
        f"EXPIRE {{at}} {LOST_AFTER}",
    )


def _pairs(fields: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(fields[::2], fields[1::2], strict=True))


def main(url: str, scenario: str, pattern: str, text: str, key: str) -> None:
    """Serve a Redis until killed, or until whoever started this ends."""
    die_with(os.getppid())
    signer = read_key(Path(key) if key else None)
    with connect(url, signer) as redis:
        asked = Scenario.from_json(scenario)
        GeneratedWorkers(redis, Line(url), asked, Path(text) if text else None, pattern).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
