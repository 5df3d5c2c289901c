"""Shows a run in Redis, where the page and the metrics find it, and reads what is shown."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec.structs import replace
from redis.exceptions import RedisError

from bpefleet.shared.errors import QueueError
from bpefleet.shared.wire.keys import (
    LARGEST_REPORT,
    RUNS,
    STATUS_TTL,
    detail_key,
    report_key,
    status_key,
)
from bpefleet.shared.wire.messages import Message, MessageError
from bpefleet.shared.wire.shown.status import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_WITHIN: Final = 2.0
"""Seconds that a snapshot may take that nobody depends on."""

_Shown = TypeVar("_Shown", bound=Message)


def mirror(url: str) -> Callable[[Snapshot], None]:
    """What posts snapshots, and does without if Redis fails: the run needs it no more."""
    from bpefleet.shared.redis.connect import connect_once  # noqa: PLC0415  slow to import, see `run`

    connection = connect_once(url, _WITHIN)

    def show(now: Snapshot) -> None:
        with suppress(RedisError), connection.pipeline(transaction=False) as pipeline:
            post(pipeline, now.run, now, now.to_bytes(), None)
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


def read(url: str, run: str, key: str, kind: type[_Shown]) -> _Shown | None:
    """What Redis shows of a run under a key; None if it has nothing there.

    Raises:
        QueueError: Redis cannot be reached, or what it has is something else.
    """
    from bpefleet.shared.redis.connect import check, connect  # noqa: PLC0415  slow to import

    check(url)
    try:
        with connect(url, patient=False) as connection:
            data: Any = connection.get(key)
        return None if data is None else kind.from_bytes(data)
    except (RedisError, MessageError) as error:
        raise QueueError(
            f"what that Redis holds of run {run} is no {key.split(':')[1]}: {str(error)[:200]}"
        ) from error


def post_report(url: str, now: Snapshot, html: bytes) -> None:
    """Show the report of a finished run on its page, as long as its status.

    Args:
        url: The Redis.
        now: The run, whose status is shown with it.
        html: The report. One that is too large is left out, with a warning.

    Raises:
        QueueError: Redis cannot be reached or used.
    """
    if len(html) > LARGEST_REPORT:
        logger.warning(
            "the report is not shown on the dashboard: it has %s bytes, and there is room for %s",
            f"{len(html):,}",
            f"{LARGEST_REPORT:,}",
            extra={"run": now.run, "bytes": len(html)},
        )
        return
    from bpefleet.shared.redis.connect import connect  # noqa: PLC0415  slow to import
    from bpefleet.shared.redis.redis_url import redacted  # noqa: PLC0415  likewise

    try:
        with connect(url, patient=False) as connection, connection.pipeline() as pipeline:
            shown: Any = connection.get(status_key(now.run))
            # The run's directory does not tell how merging went.
            with suppress(MessageError):
                now = replace(now, merging=Snapshot.from_bytes(shown or b"").merging)
            pipeline.set(report_key(now.run), html, ex=STATUS_TTL)
            post(pipeline, now.run, now, now.to_bytes(), None)
            pipeline.execute()
    except RedisError as error:
        raise QueueError(
            f"the report is written, but not shown on the dashboard: Redis at {redacted(url)}: "
            f"{error}",
            hint="see to it that Redis runs and has room",
        ) from error
