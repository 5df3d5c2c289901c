"""Reads who serves the queue, at work or idle, for whichever run: RQ's own keys tell."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError, ResponseError

from bpefleet.dashboard.view import RUN_NAME
from bpefleet.shared.keys import FLEET_WORKER, QUEUE, STAGE_FIELD, run_and_chunk
from bpefleet.shared.text import line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redis.asyncio import Redis

_MOST: Final = 5000
_BATCH: Final = 500
_LONGEST: Final = 200
"""Characters of a text that are shown: anybody may have written it."""

_LARGEST: Final = 2**53
"""Beyond it a page's numbers are no longer whole."""

_FIELDS: Final = (
    "hostname",
    "pid",
    FLEET_WORKER,
    "birth",
    "last_heartbeat",
    "current_job",
    "successful_job_count",
    "failed_job_count",
    "total_working_time",
)


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that serves the queue.

    Attributes:
        name: Its name in RQ.
        host: Its machine.
        pid: Its process there; 0 if unknown.
        version: Of bpefleet; empty if it is a worker of another kind.
        born: Unix seconds of its start, by its clock; 0 if unknown.
        heard: Of its last sign of life, likewise.
        run: The run that it is at; empty if it is idle.
        chunk: The chunk of it; None if it is idle.
        doing: What it does with it.
        since: Unix seconds since when, by its clock; 0 if unknown.
        counted: Chunks that it counted, of all runs.
        failed: Attempts of its that failed.
        seconds: Seconds that it was at work.
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
    """The workers by host and name, as JSON-able data. A name whose worker is gone is none.

    Raises:
        RedisError: Redis does not answer, or refuses.
    """
    keys: list[bytes] = []
    try:
        async for key in redis.sscan_iter(f"rq:workers:{QUEUE}", count=_BATCH):
            keys.append(key)
            if len(keys) == _MOST:
                break
    except ResponseError as error:
        _alone(error)
    found: dict[bytes, list[Any]] = {}
    for at in range(0, len(keys), _BATCH):
        batch = keys[at : at + _BATCH]
        found |= dict(zip(batch, await _hashes(redis, batch, _FIELDS), strict=True))
    facts = {key: fields for key, fields in found.items() if any(fields)}
    jobs = [f"rq:job:{_text(fields[5])}".encode() for fields in facts.values()]
    doing = await _hashes(redis, jobs, (STAGE_FIELD, "started_at"))
    workers = (_worker(*each) for each in zip(facts, facts.values(), doing, strict=True))
    return [asdict(worker) for worker in sorted(workers, key=lambda w: (w.host, w.name))]


async def _hashes(redis: Redis, keys: Sequence[bytes], fields: Sequence[str]) -> list[list[Any]]:
    """These fields of each hash; of what is none, nothing."""
    if not keys:
        return []
    async with redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.hmget(key, fields)
        answers: Any = await pipeline.execute(raise_on_error=False)
    return list(_rows(answers, len(fields)))


def _rows(answers: Sequence[Any], width: int) -> Iterator[list[Any]]:
    for answer in answers:
        if isinstance(answer, RedisError):
            _alone(answer)
        yield [None] * width if isinstance(answer, RedisError) else answer


def _alone(error: RedisError) -> None:
    """Pass over a key of another kind, which anybody may have put there; raise all else."""
    if not str(error).startswith("WRONGTYPE"):
        raise error


def _worker(key: bytes, fields: Sequence[bytes | None], doing: Sequence[bytes | None]) -> Worker:
    host, pid, version, born, heard, job, counted, failed, seconds = fields
    at = run_and_chunk(_text(job)) or ("", 0)
    busy = bool(RUN_NAME.fullmatch(at[0])) and at[1] < _LARGEST
    return Worker(
        name=_text(key).removeprefix("rq:worker:"),
        host=_text(host),
        pid=int(_number(pid)),
        version=_text(version),
        born=_date(born),
        heard=_date(heard),
        run=at[0] if busy else "",
        chunk=at[1] if busy else None,
        doing=_text(doing[0]) if busy else "",
        since=_date(doing[1]) if busy else 0.0,
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
