"""Keeps a bounded number of jobs in Redis: its memory stays flat however long a corpus is."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from redis.exceptions import OutOfMemoryError, RedisError

from bpefleet.shared.process.amounts import several

if TYPE_CHECKING:
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.enqueue import Enqueuer

logger = logging.getLogger(__name__)

_PER_WORKER: Final = 3
"""Jobs in Redis for each worker: one that it is at, and two that wait."""
_LEAST: Final = 4
"""Jobs in Redis at least."""
_AT_ONCE: Final = 128
"""Jobs that are queued at once, in some tens of milliseconds."""
_FULL_PAUSE: Final = 1.0
"""Seconds until a job is queued again after Redis was full."""


class Window:
    """Queues what may be queued, and takes it back.

    Attributes:
        filling: Whether there is more to be queued at once.
    """

    def __init__(self, states: ChunkStates, enqueuer: Enqueuer) -> None:
        self.filling = False
        self._states = states
        self._enqueuer = enqueuer
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
        room = max(_LEAST, _PER_WORKER * workers) - len(self._states.in_flight)
        if not (chunks := self._states.take(min(_AT_ONCE, room), now)):
            return True
        try:
            attempts = await asyncio.to_thread(self._enqueuer.put, chunks)
        except OutOfMemoryError:
            self._states.put_back(chunks)
            self._full_until = now + _FULL_PAUSE
            return False
        except RedisError:
            # They may be there or not, as the sweep will find.
            self._states.queued(dict.fromkeys(chunks, ""))
            raise
        self._states.queued(attempts)
        for chunk, attempt in attempts.items():
            logger.debug(
                "chunk %d is enqueued", chunk, extra={"chunk": chunk, "attempt_id": attempt}
            )
        self.filling = len(chunks) == _AT_ONCE
        return True

    async def withdraw(self) -> None:
        """Take off the queue what no worker has taken; the rest is waited for."""
        chunks = sorted(self._states.in_flight)
        withdrawn = await asyncio.to_thread(self._enqueuer.withdraw, chunks)
        self._states.put_back(withdrawn)
        if withdrawn:
            logger.info("%s taken off the queue", several(len(withdrawn), "job"))
