"""What one attempt at a chunk writes to Redis, from its begin to its end."""

from __future__ import annotations

import secrets
import time
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.simulation.corpus import Answer
from bpefleet.shared.queue.jobs import RESULT_TTL
from bpefleet.shared.wire import keys, rq_keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.failures import LOST_AFTER
from bpefleet.shared.wire.messages import Counted, Reduced

if TYPE_CHECKING:
    from redis.client import Pipeline

    from bpefleet.shared.trust.signing import Signer

_SLACK = 60
"""Seconds that RQ adds to what it says of an execution."""
_WIP = f"rq:wip:{keys.QUEUE}"
_FINISHED = f"rq:finished:{keys.QUEUE}"


@dataclass
class Attempt:
    """An attempt that a generated worker is at."""

    job: str
    worker: str
    fields: dict[bytes, bytes]
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
        place = keys.run_and_chunk(self.job)
        assert place is not None  # noqa: S101  it was queued by us
        return place[1]

    @property
    def kind(self) -> str:
        """What is done with it."""
        return keys.kind_of(self.job)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """What the job says."""
        _, _, (_, _, spec), _ = orjson.loads(zlib.decompress(self.fields[b"data"]))
        return dict(spec)

    @property
    def digest(self) -> str:
        """The digest that counts must carry."""
        return str(self.spec["digest"])

    def heartbeat(self, pipeline: Pipeline) -> None:
        """The sign of life of a work-horse."""
        name = f"{self.job}:{self.id}"
        worker = rq_keys.worker_key(self.worker)
        now = time.time()
        pipeline.expire(f"{worker}:executions", LOST_AFTER + _SLACK)
        pipeline.hset(f"rq:execution:{name}", "last_heartbeat", now)
        pipeline.expire(f"rq:execution:{name}", LOST_AFTER)
        pipeline.zadd(f"rq:executions:{self.job}", {self.id: now + LOST_AFTER + _SLACK})
        pipeline.zadd(_WIP, {name: now + LOST_AFTER})


def began(pipeline: Pipeline, attempt: Attempt) -> None:
    """A worker takes a job, forks, and its work-horse begins."""
    job, worker = rq_keys.job_key(attempt.job), rq_keys.worker_key(attempt.worker)
    name, now, date = f"{attempt.job}:{attempt.id}", time.time(), _now()
    pipeline.hset(
        f"rq:execution:{name}",
        mapping={
            "id": attempt.id,
            "job_id": attempt.job,
            "created_at": now,
            "last_heartbeat": now,
            "worker_name": attempt.worker,
        },
    )
    attempt.heartbeat(pipeline)
    pipeline.expire(f"rq:executions:{attempt.job}", LOST_AFTER + _SLACK)
    pipeline.sadd(f"{worker}:executions", name)
    pipeline.hset(worker, "state", "busy")
    pipeline.ping()
    pipeline.hset(worker, "last_heartbeat", date)
    pipeline.expire(worker, LOST_AFTER)
    begins: Any = {"last_heartbeat": date, "status": "started", "started_at": date}
    pipeline.hset(job, "last_heartbeat", date)
    pipeline.hset(job, mapping=begins | {"worker_name": attempt.worker})
    pipeline.persist(job)
    pipeline.lrem(rq_keys.TAKEN, 1, attempt.job)
    for stage in ("count", "encode", "publish"):
        pipeline.hset(job, mapping={keys.STAGE_FIELD: stage, keys.LOG_FIELD: "a line\n" * 8})


def left(pipeline: Pipeline, attempt: Attempt, payload: bytes, signer: Signer) -> Counted:
    """A work-horse leaves its counts in Redis."""
    counted = counted_by(attempt, payload, signer)
    pipeline.set(counted.key, payload, ex=keys.PAYLOAD_TTL)
    return counted


def ended(pipeline: Pipeline, attempt: Attempt, counted: Counted | Reduced, signer: Signer) -> None:
    """A work-horse tells what came of its job, and its worker is idle again."""
    job, worker = rq_keys.job_key(attempt.job), rq_keys.worker_key(attempt.worker)
    pipeline.smembers(job + b":dependents")
    pipeline.hincrby(worker, "successful_job_count", 1)
    pipeline.hincrbyfloat(worker, "total_working_time", counted.seconds)
    pipeline.hset(job, "status", "finished")
    pipeline.hset(job, mapping=attempt.fields | {b"status": b"finished"})  # type: ignore[arg-type]
    result = f"rq:results:{attempt.job}"
    body: dict[Any, Any] = {"type": 1, "return_value": counted.to_bytes()}
    pipeline.xadd(result, body, maxlen=10)
    pipeline.expire(result, RESULT_TTL)
    pipeline.zadd(_FINISHED, {attempt.job: time.time() + RESULT_TTL})
    stream = keys.events_key(attempt.run)
    tried = attempt.fields[b"enqueued_at"].decode()
    event: Any = event_fields(signer, attempt.run, attempt.chunk, tried, counted, attempt.kind)
    pipeline.xadd(stream, event)
    pipeline.expire(stream, keys.EVENTS_TTL)
    pipeline.expire(job, RESULT_TTL)
    pipeline.expire(job + b":dependents", RESULT_TTL)
    pipeline.delete(f"rq:execution:{attempt.job}:{attempt.id}")
    pipeline.zrem(_WIP, f"{attempt.job}:{attempt.id}")
    pipeline.zrem(f"rq:executions:{attempt.job}", attempt.id)
    pipeline.srem(f"{worker}:executions", f"{attempt.job}:{attempt.id}")
    pipeline.hset(worker, "state", "idle")


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
        worker=attempt.worker,
        started=attempt.begun,
        ended=now,
        scan_seconds=answer.seconds,
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
