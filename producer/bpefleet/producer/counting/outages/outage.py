"""Tells people that Redis does not answer, while everything else in the run waits for it."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import QueueError
from bpefleet.shared.redis.ping import Pinger
from bpefleet.shared.redis.redis_url import redacted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.store.stop import Stop

logger = logging.getLogger(__name__)

_PATIENCE: Final = 600.0
"""Seconds that a run waits for a Redis that is away. Workers, which serve others too, wait for as
long as it takes.
"""


class StoppedInOutageError(Exception):
    """The run was asked to end while Redis was away, and did not wait for it."""


@asynccontextmanager
async def outages_told(status: StatusFile, stop: Stop, url: str) -> AsyncIterator[None]:
    """Within the block, have it said when Redis does not answer, and when it answers again.

    Who asks for the run's end meanwhile need not ask twice: what the workers still count could not
    be heard of.

    Args:
        status: Tells of the outage, too.
        stop: Whether the run is to end.
        url: The Redis.

    Raises:
        StoppedInOutageError: The run was asked to end while Redis was away.
        QueueError: Redis has been away for ten minutes.
    """
    block = asyncio.current_task()
    assert block is not None  # noqa: S101  this is a coroutine
    lookout = _Lookout(status, stop, url)
    following = asyncio.create_task(lookout.follow(block))
    try:
        yield
    except asyncio.CancelledError:
        if lookout.end is None:
            raise
        block.uncancel()
        raise lookout.end from None
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


class _Lookout:
    """Asks the Redis.

    Attributes:
        end: Why it ended the block, if it did.
    """

    def __init__(self, status: StatusFile, stop: Stop, url: str) -> None:
        self.end: Exception | None = None
        self._status = status
        self._stop = stop
        self._url = url
        self._pinger = Pinger(url)

    async def follow(self, block: asyncio.Task[None]) -> None:
        """Ask for ever, and cancel the block if it is to end and Redis is away."""
        while True:
            await asyncio.sleep(self._pinger.due_in)
            self.end = await asyncio.to_thread(self._ask)
            if self.end is not None:
                block.cancel()
                return

    def _ask(self) -> Exception | None:
        """Ask once, and tell; why the run is to end without waiting for an answer, if it is."""
        pinger = self._pinger
        if text := pinger.ask():
            logger.warning("%s", text)
        if not pinger.away_since and not text:
            return None
        end: Exception | None = None
        if pinger.away_since and self._stop.requested():
            logger.warning("stopping now: what the workers still count could not be heard of")
            end = StoppedInOutageError()
        elif pinger.away_since and time.time() - pinger.away_since > _PATIENCE:
            end = QueueError(
                f"Redis at {redacted(self._url)} has been away for {_PATIENCE:.0f} s",
                hint="see to it that Redis runs",
            )
        self._status.away(pinger.away_since)
        return end
