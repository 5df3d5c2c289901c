"""Reads all workers that serve the queue, busy or idle, for any run, from RQ's keys."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError, ResponseError

from bpefleet.dashboard.reading.view import RUN_NAME
from bpefleet.shared.process.text import line
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import FLEET_WORKER, STAGE_FIELD, read_job_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis

_MOST: Final = 20_000
"""Workers that are read at the most."""
_BATCH: Final = 500
_LONGEST: Final = 200
"""The most characters of a text that are shown: anybody may have written it."""

_LARGEST: Final = 2**53
"""Above it, numbers in JavaScript are no longer exact."""

_FIELDS: Final = (
    rq_keys.HOST,
    rq_keys.PID,
    FLEET_WORKER,
    rq_keys.BIRTH,
    rq_keys.HEARD,
    rq_keys.SUCCEEDED,
    rq_keys.UNSUCCESSFUL,
    rq_keys.WORKED,
)


_JOB_FIELDS: Final = (rq_keys.STATUS, rq_keys.WORKER_NAME, STAGE_FIELD, rq_keys.STARTED_AT)
_MOST_EXECUTIONS: Final = 4
"""The executions of a worker that are read: it runs one job, and may have left others behind."""


@dataclass(frozen=True, slots=True)
class _Job:
    run: str
    chunk: int
    doing: str
    since: float


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that serves the queue.

    Attributes:
        name: Its name in RQ.
        host: Its machine.
        pid: Its process there; 0 if unknown.
        version: Its version of bpefleet; empty if it is no bpefleet worker.
        born: Unix seconds of its start, by its clock; 0 if unknown.
        heard: Unix seconds of its last heartbeat, by its clock; 0 if unknown.
        run: The run that it works for; empty if it is idle.
        chunk: The chunk that it works on; None if it is idle.
        doing: The stage of that chunk.
        since: Unix seconds since it works on that, by its clock; 0 if unknown.
        counted: Chunks that it counted, of all runs.
        failed: Attempts of it that failed.
        seconds: Seconds that it was busy.
    """

    name: str
    host: str
    pid: int
    version: str
    born: float
    heard: float
    run: str
    chunk: int | None
    doing: str
    since: float
    counted: int
    failed: int
    seconds: float


async def read_workers(redis: Redis) -> list[dict[str, Any]]:
    """The workers by host and name, as JSON-able data. Names of workers that are gone are left out.

    Raises:
        RedisError: Redis does not answer, or refuses.
    """
    keys: list[bytes] = []
    try:
        async for key in redis.sscan_iter(rq_keys.WORKERS, count=_BATCH):
            keys.append(key)
            if len(keys) == _MOST:
                break
    except ResponseError as error:
        _is_odd(error)
    found: dict[bytes, list[Any]] = {}
    for at in range(0, len(keys), _BATCH):
        batch = keys[at : at + _BATCH]
        found |= dict(zip(batch, await _hashes(redis, batch, _FIELDS), strict=True))
    facts = {key: fields for key, fields in found.items() if any(fields)}
    jobs = await _jobs(redis, list(facts))
    workers = (_worker(key, fields, jobs.get(key)) for key, fields in facts.items())
    return [asdict(worker) for worker in sorted(workers, key=lambda w: (w.host, w.name))]


async def _jobs(redis: Redis, keys: Sequence[bytes]) -> dict[bytes, _Job]:
    """The job of each worker that is busy."""
    async with redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.srandmember(rq_keys.executions_key(key), _MOST_EXECUTIONS)
        answers: Any = await pipeline.execute(raise_on_error=False) if keys else ()
    names = [
        (key, execution.partition(b":")[0])
        for key, answer in zip(keys, answers, strict=True)
        for execution in (() if _is_odd(answer) else answer)
    ]
    jobs = await _hashes(redis, [rq_keys.job_key(job) for _, job in names], _JOB_FIELDS)
    found = {}
    for (key, job), (status, worker, doing, since) in zip(names, jobs, strict=True):
        at = read_job_id(_text(job))
        # The job of a killed worker stays in its list for a while.
        its_own = status == rq_keys.STARTED and worker == rq_keys.worker_name(key)
        if its_own and at and RUN_NAME.fullmatch(at[0]) and at[1] < _LARGEST:
            found[key] = _Job(*at[:2], _text(doing), _date(since))
    return found


async def _hashes(redis: Redis, keys: Sequence[bytes], fields: Sequence[str]) -> list[list[Any]]:
    """These fields of each hash; none of a key of another type."""
    if not keys:
        return []
    async with redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.hmget(key, fields)
        answers: Any = await pipeline.execute(raise_on_error=False)
    return [[None] * len(fields) if _is_odd(answer) else answer for answer in answers]


def _is_odd(answer: object) -> bool:
    """Whether an answer says that a key has another type: anybody may have written it.

    Raises:
        RedisError: The answer is another error.
    """
    if isinstance(answer, RedisError) and not str(answer).startswith("WRONGTYPE"):
        raise answer
    return isinstance(answer, RedisError)


def _worker(key: bytes, fields: Sequence[bytes | None], job: _Job | None) -> Worker:
    host, pid, version, born, heard, counted, failed, seconds = fields
    return Worker(
        name=_text(rq_keys.worker_name(key)),
        host=_text(host),
        pid=int(_number(pid)),
        version=_text(version),
        born=_date(born),
        heard=_date(heard),
        run=job.run if job else "",
        chunk=job.chunk if job else None,
        doing=job.doing if job else "",
        since=job.since if job else 0.0,
        counted=int(_number(counted)),
        failed=int(_number(failed)),
        seconds=_number(seconds),
    )


def _text(data: bytes | None) -> str:
    return line((data or b"").decode("utf-8", "replace"))[:_LONGEST]


def _number(data: bytes | None) -> float:
    try:
        number = float(data or 0)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) and 0 <= number < _LARGEST else 0.0


def _date(data: bytes | None) -> float:
    """Unix seconds of a date as RQ writes it, with or without its zone, which is UTC; 0 if none."""
    try:
        when = datetime.fromisoformat(_text(data))
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
