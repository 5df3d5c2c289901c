"""Shows a run in Redis, where the page and the metrics find it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
from redis.exceptions import RedisError

from bpefleet.shared.keys import RUNS, STATUS_TTL, detail_key, status_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.shared.status import Snapshot


def mirror(url: str) -> Callable[[Snapshot], None]:
    """What posts snapshots, and does without if Redis fails: the run needs it no more."""
    from bpefleet.shared.connect import connect  # noqa: PLC0415  slow to import, see `run`

    connection = connect(url, patient=False)

    def show(now: Snapshot) -> None:
        with suppress(RedisError), connection.pipeline(transaction=False) as pipeline:
            post(pipeline, now.run, now, orjson.dumps(now.to_json()), None)
            pipeline.execute()

    return show


def post(pipeline: Any, run: str, now: Snapshot, snapshot: bytes, detail: bytes | None) -> None:
    """Add to a pipeline, of either kind of connection, what shows a run.

    Args:
        pipeline: To be executed by the caller.
        run: The run's id.
        now: The snapshot, for its time.
        snapshot: The same as JSON.
        detail: The detail as JSON; None to leave it as it is.
    """
    pipeline.set(status_key(run), snapshot, ex=STATUS_TTL)
    if detail is not None:
        pipeline.set(detail_key(run), detail, ex=STATUS_TTL)
    pipeline.zadd(RUNS, {run: now.updated})
    pipeline.zremrangebyscore(RUNS, 0, now.updated - STATUS_TTL)
    pipeline.expire(RUNS, STATUS_TTL)
