"""Shows a run that goes through Redis: beside it, in its directory and on the page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bpefleet.producer.observing.posting import post

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.observing.views.counting import CountingView
    from bpefleet.producer.observing.views.page_detail import PageDetail
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.store.ledgers.settled import Settled


class LiveView:
    """Shows where the run is. What blocks is done in threads."""

    def __init__(
        self,
        redis: Redis,
        *,
        states: ChunkStates,
        sweep: Sweep,
        ledger: Settled,
        status: StatusFile,
        counting: CountingView,
        detail: PageDetail,
    ) -> None:
        self._redis = redis
        self._states = states
        self._sweep = sweep
        self._ledger = ledger
        self._status = status
        self._counting = counting
        self._detail = detail

    def due(self, *, quiet: bool) -> bool:
        """Whether to show all of it now: once a second, in a quiet moment if there is one."""
        return self._status.due and (quiet or self._status.late)

    async def show_counted(self) -> None:
        """Show how much is counted, beside the run alone."""
        await asyncio.to_thread(self._counted)

    async def show(self, still: asyncio.Lock) -> None:
        """Show all of it.

        Args:
            still: Held by who changes the states of chunks.

        Raises:
            RedisError: It is full, or lost.
        """
        async with still:
            detail = await asyncio.to_thread(self._now)
        now = self._status.now
        async with self._redis.pipeline(transaction=False) as pipeline:
            post(pipeline, now.run, now, self._status.data, detail)
            await pipeline.execute()

    def _counted(self) -> None:
        with self._ledger.still:
            self._counting.show_counted()

    def _now(self) -> bytes:
        with self._ledger.still:
            self._counting.show(self._states, self._sweep)
            return self._detail.now().to_bytes()
