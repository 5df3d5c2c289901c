"""Keeps a bounded number of jobs in Redis: its memory stays flat however long a corpus is.

And however large what they leave there: where results are large, one process that folds them keeps
up with fewer workers than would fill Redis, and a window by workers alone would let them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError, RedisError

from bpefleet.shared.process.amounts import several

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bpefleet.producer.queueing.lane import Lane

logger = logging.getLogger(__name__)

_PER_WORKER: Final = 3
"""Jobs in Redis for each worker: one that it is at, and two that wait."""
_LEAST: Final = 4
"""Jobs in Redis at least."""
_BYTES: Final = 1 << 30
"""Bytes that the results of all jobs in Redis take there at the most, by what those before took."""
_AT_ONCE: Final = 128
"""Jobs that are queued at once, in some tens of milliseconds."""
_FULL_PAUSE: Final = 1.0
"""Seconds until a job is queued again after Redis was full."""


class Window:
    """Queues what may be queued, and takes it back.

    Attributes:
        filling: Whether there is more to be queued at once.
    """

    def __init__(self, lanes: Sequence[Lane], result_bytes: Callable[[], float]) -> None:
        """Prepare to queue.

        Args:
            lanes: What is waiting to be queued; of the first one first.
            result_bytes: Tells how many bytes of Redis a job's result is expected to take.
        """
        self.filling = False
        self._lanes = lanes
        self._result_bytes = result_bytes
        self._full_until = 0.0

    async def fill(self, workers: int) -> bool:
        """Queue as many chunks as so many workers have use for; False if Redis is full.

        Raises:
            RedisError: Redis is lost, or fails for a moment.
        """
        now = asyncio.get_running_loop().time()
        self.filling = False
        if now < self._full_until:
            return True
        most = min(_PER_WORKER * workers, int(_BYTES / max(1.0, self._result_bytes())))
        for lane in self._lanes:
            in_flight = sum(len(each.states.in_flight) for each in self._lanes)
            room = max(_LEAST, most) - in_flight
            if (chunks := lane.states.take(min(_AT_ONCE, room), now)) and not await self._put(
                lane, chunks, now
            ):
                return False
        return True

    async def _put(self, lane: Lane, chunks: list[int], now: float) -> bool:
        states = lane.states
        try:
            attempts = await asyncio.to_thread(lane.enqueuer.put, chunks)
        except OutOfMemoryError:
            states.put_back(chunks)
            self._full_until = now + _FULL_PAUSE
            return False
        except RedisError:
            # They may be there or not, as the sweep will find.
            states.queued(dict.fromkeys(chunks, ""))
            raise
        states.queued(attempts)
        for chunk, attempt in attempts.items():
            about = {"chunk": chunk, "attempt_id": attempt}
            logger.debug("%s %d is enqueued", states.kind.noun, chunk, extra=about)
        self.filling = self.filling or len(chunks) == _AT_ONCE
        return True

    async def withdraw(self) -> None:
        """Take off the queue what no worker has taken; the rest is waited for."""
        count = 0
        for lane in self._lanes:
            chunks = sorted(lane.states.in_flight)
            withdrawn = await asyncio.to_thread(lane.enqueuer.withdraw, chunks)
            lane.states.put_back(withdrawn)
            count += len(withdrawn)
        if count:
            logger.info("%s taken off the queue", several(count, "job"))
