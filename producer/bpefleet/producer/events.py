"""Reads the run's stream of events: which chunk ended how, as its worker tells in RQ's MULTI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bpefleet.producer.few import Few
from bpefleet.shared.event import Event, read_event
from bpefleet.shared.keys import events_key
from bpefleet.shared.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

    from bpefleet.producer.plan import Plan
    from bpefleet.shared.signing import Signer

_MOST: Final = 64
_START: Final = b"0-0"
_SHOWN: Final = 300
"""Characters of an odd event that people are shown."""


class Events:
    """Reads events until they are dropped; what is not dropped comes again, after `rewind`.

    No position is kept for longer than events are being settled: a Redis that lost its memory, or
    whose clock went back, begins a stream with ids of any height.
    """

    def __init__(
        self, redis: Redis, plan: Plan, signer: Signer, warn: Callable[[str], None]
    ) -> None:
        self._redis = redis
        self._plan = plan
        self._signer = signer
        self._key = events_key(plan.run)
        self._last: bytes = _START
        self._odd = Few(warn, "events that are not a worker's were left aside")

    def rewind(self) -> None:
        """Read from the stream's start again."""
        self._last = _START

    async def read(self, block_ms: int | None) -> list[Event]:
        """The next events; waits for the first up to `block_ms`, or not at all."""
        # redis-py types its answers for all protocols and decodings at once.
        entries: Any = await self._redis.xread({self._key: self._last}, count=_MOST, block=block_ms)
        run, chunks = self._plan.run, len(self._plan.chunks)
        events = []
        for _stream, items in entries:
            for entry, fields in items:
                self._last = entry
                try:
                    events.append(read_event(self._signer, run, chunks, entry, fields))
                except MessageError as error:
                    why = str(error)[:_SHOWN]
                    self._odd.tell(f"an event that is not a worker's was left aside: {why}")
                    await self._redis.xdel(self._key, entry)
        return events

    def sum_up(self) -> None:
        """Say how many events were left aside, if that was not said of each."""
        self._odd.sum_up()

    async def drop(self, event: Event, payload: str | None) -> None:
        """Remove an event, and before it a payload: it is in the ledger, or settled otherwise."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            if payload is not None:
                pipeline.delete(payload)
            pipeline.xdel(self._key, event.id)
            await pipeline.execute()
