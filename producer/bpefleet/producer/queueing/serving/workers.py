"""Who serves the queue: the workers that Redis lists and that are alive.

RQ's list of workers keeps the names of those that were killed, and anyone may write to it. A worker
of ours is alive as long as its hash is there: Redis lets it expire `LOST_AFTER` seconds after the
last sign of life.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from bpefleet.producer.queueing.batches import answers, answers_async, batches
from bpefleet.shared.process.text import printable
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import FLEET_WORKER, KEY_FIELD

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

_FIELDS: Final = [FLEET_WORKER, KEY_FIELD, rq_keys.HOST, rq_keys.PID, rq_keys.HEARD]


class Seen(Struct, frozen=True, gc=False):
    """A worker as Redis tells of it; see `status.WorkerView`. As to garbage, see `InFlight`."""

    name: str
    host: str
    pid: int
    heard: float
    is_ours: bool
    key: str


def live_workers(connection: Redis) -> int:
    """How many workers of the fleet serve the queue. Blocking."""
    names: Any = connection.smembers(rq_keys.WORKERS)
    found = answers(connection, names, lambda pipeline, key: pipeline.hexists(key, FLEET_WORKER))
    return sum(one is True for one in found)


async def seen_workers(redis: AsyncRedis) -> list[Seen]:
    """All that serve the queue, by name: the fleet's workers, and strangers."""
    names: Any = await redis.smembers(rq_keys.WORKERS)
    seen: list[Seen] = []
    # Some at a time are asked and read, which lets others have the event loop between.
    for keys in batches(sorted(names)):
        found = await answers_async(redis, keys, lambda pipeline, key: pipeline.hmget(key, _FIELDS))
        seen += (
            _seen(key, *fields)
            for key, fields in zip(keys, found, strict=True)
            if fields and any(fields)  # else it expired, or is nothing that a worker would write
        )
    return seen


def _seen(key: bytes, *fields: bytes | None) -> Seen:
    """A worker by the fields of its hash, which anyone may have written."""
    ours, key_id, host, pid, heard = fields
    return Seen(
        name=printable(rq_keys.worker_name(key).decode("utf-8", "replace")),
        host=printable((host or b"").decode("utf-8", "replace")),
        pid=int(pid) if pid and pid.isdigit() else 0,
        heard=_when(heard or b""),
        is_ours=bool(ours),
        key=printable((key_id or b"").decode("utf-8", "replace")),
    )


def _when(heard: bytes) -> float:
    """Unix seconds of a date as RQ writes it, which `rq.utils` takes ten times as long to read."""
    try:
        return datetime.fromisoformat(heard.decode()).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
