"""What one attempt at a chunk writes to Redis, from its begin to its end."""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import orjson

from benchmarks.simulation.commands import Script, word
from benchmarks.simulation.corpus import Answer
from bpefleet.shared.wire import keys, rq_keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.failures import LOST_AFTER
from bpefleet.shared.wire.messages import Counted, Reduced

if TYPE_CHECKING:
    from bpefleet.shared.trust.signing import Signer

_SLACK: Final = 60
"""Seconds that RQ adds to what it says of an execution."""
_WIP: Final = f"rq:wip:{keys.QUEUE}"
_LOG: Final = "a line\n" * 8

_BEGINS: Final = Script(
    "HSET {execution} id {id} job_id {job_id} created_at {now} last_heartbeat {now} "
    "worker_name {name}",
    f"EXPIRE {{execution}} {LOST_AFTER}",
    "ZADD {executions} {abandoned} {id}",
    f"EXPIRE {{executions}} {LOST_AFTER + _SLACK}",
    f"ZADD {_WIP} {{silent}} {{attempt}}",
    "SADD {at} {attempt}",
    f"EXPIRE {{at}} {LOST_AFTER + _SLACK}",
    "HSET {worker} state busy",
    "PING",
    "HSET {worker} last_heartbeat {date}",
    f"EXPIRE {{worker}} {LOST_AFTER}",
    f"EXPIRE {{at}} {LOST_AFTER}",
    "HSET {job} last_heartbeat {date}",
    "HSET {job} last_heartbeat {date} status started started_at {date} worker_name {name}",
    "PERSIST {job}",
    f"LREM {rq_keys.TAKEN} 1 {{job_id}}",
    *(
        ("HSET", "{job}", keys.STAGE_FIELD, stage, keys.LOG_FIELD, _LOG)
        for stage in ("count", "encode", "publish")
    ),
)
"""A worker takes a job, forks, and its work-horse begins."""

_HEARTBEAT: Final = Script(
    "HSET {worker} last_heartbeat {date}",
    f"EXPIRE {{worker}} {LOST_AFTER}",
    f"EXPIRE {{at}} {LOST_AFTER}",
    "HSET {execution} last_heartbeat {now}",
    f"EXPIRE {{execution}} {LOST_AFTER}",
    "ZADD {executions} {abandoned} {id}",
    f"ZADD {_WIP} {{silent}} {{attempt}}",
    "HSET {job} last_heartbeat {date}",
)
"""The sign of life of a worker whose work-horse is at a chunk."""

_ENDS: Final = Script(
    "HSET {job} last_heartbeat {date}",
    "SMEMBERS {dependents}",
    "HINCRBY {worker} successful_job_count 1",
    "HINCRBYFLOAT {worker} total_working_time {seconds}",
    "XADD {events} * chunk {chunk} attempt {tried} outcome {outcome} body {body} "
    "signature {signature}",
    f"EXPIRE {{events}} {keys.EVENTS_TTL}",
    "UNLINK {job}",
    "DEL {execution}",
    f"ZREM {_WIP} {{attempt}}",
    "ZREM {executions} {id}",
    "SREM {at} {attempt}",
    "HSET {worker} state idle",
)
"""A work-horse tells what came of its job."""

_LEAVES: Final = Script(f"SET {{payload}} {{counts}} EX {keys.PAYLOAD_TTL}")


@dataclass(slots=True)
class Worker:
    """A generated worker.

    Attributes:
        name: Its name.
        heard: When it last gave a sign of life.
        words: What it says of itself.
    """

    name: str
    heard: float = 0.0
    words: dict[bytes, bytes] = field(init=False)

    def __post_init__(self) -> None:
        key = rq_keys.worker_key(self.name)
        self.words = {
            b"name": word(self.name),
            b"worker": word(key),
            b"at": word(f"{key}:executions"),
            b"host": word(self.name.rpartition("-")[0]),
        }


@dataclass
class Attempt:
    """An attempt that a generated worker is at.

    Attributes:
        job: The job's id.
        worker: Who is at it.
        fields: What Redis has of the job.
        answer: What it will answer with.
        id: Its name among RQ's executions.
        begun: When it began.
    """

    job: str
    worker: Worker
    fields: Mapping[bytes, bytes]
    answer: Answer
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    begun: float = field(default_factory=time.time)

    @property
    def run(self) -> str:
        """The run that its job is of."""
        return self.job.rpartition("-")[0]

    @property
    def chunk(self) -> int:
        """The chunk that its job is on."""
        place = keys.read_job_id(self.job)
        assert place is not None  # noqa: S101  it was queued by us
        return place[1]

    @property
    def kind(self) -> str:
        """What is done with it."""
        place = keys.read_job_id(self.job)
        return place[2] if place else ""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What the job says."""
        _, _, (_, _, spec), _ = orjson.loads(zlib.decompress(self.fields[b"data"]))
        return dict(spec)

    @cached_property
    def _words(self) -> dict[bytes, bytes]:
        name, job = f"{self.job}:{self.id}", rq_keys.job_key(self.job)
        return self.worker.words | {
            b"id": word(self.id),
            b"job_id": word(self.job),
            b"job": word(job),
            b"dependents": word(job + b":dependents"),
            b"attempt": word(name),
            b"execution": word(f"rq:execution:{name}"),
            b"executions": word(f"rq:executions:{self.job}"),
        }

    def begins(self, now: Mapping[bytes, bytes]) -> bytes:
        """What is said at its begin."""
        return _BEGINS.said({**self._words, **now})

    def lives(self, now: Mapping[bytes, bytes]) -> bytes:
        """What its worker says every few seconds."""
        return _HEARTBEAT.said({**self._words, **now})

    def leaves(self, counted: Counted, payload: bytes) -> bytes:
        """Its counts, left in Redis."""
        return _LEAVES.said({b"payload": word(counted.key), b"counts": word(payload)})

    def ends(self, now: Mapping[bytes, bytes], end: Counted | Reduced, signer: Signer) -> bytes:
        """What is said at its end."""
        tried = self.fields[b"enqueued_at"].decode()
        event = event_fields(signer, self.run, self.chunk, tried, end, self.kind)
        told = {name.encode(): word(value) for name, value in event.items()}
        told[b"tried"] = told.pop(b"attempt")
        facts = {b"events": word(keys.events_key(self.run)), b"seconds": word(end.seconds)}
        return _ENDS.said({**self._words, **now, **told, **facts})


def moment() -> dict[bytes, bytes]:
    """What commands say of the time."""
    now = time.time()
    return {
        b"now": word(now),
        b"silent": word(now + LOST_AFTER),
        b"abandoned": word(now + LOST_AFTER + _SLACK),
        b"date": word(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")),
    }


def counted_by(attempt: Attempt, payload: bytes, signer: Signer, file: str = "") -> Counted:
    """What a worker says of its counts; of those in an exchange, in which file they are."""
    answer, now = attempt.answer, time.time()
    key = keys.payload_key(attempt.run, attempt.chunk, secrets.token_hex(8))
    return Counted(
        key="" if file else key,
        file=file,
        sha256=signer.fingerprint(payload),
        size=len(payload),
        bytes_read=answer.text,
        pretokens=answer.counts.pretokens,
        unique=len(answer.counts),
        replaced=0,
        unmatched=0,
        seconds=max(now - attempt.begun, 1e-6),
        peak_rss=1 << 26,
        worker=attempt.worker.name,
        started=attempt.begun,
        ended=now,
        scan_seconds=answer.seconds,
    )
