"""The run's stream of events: which chunk ended how, as its worker tells in RQ's MULTI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.shared.keys import events_key
from bpefleet.shared.messages import Counted, Failed, MessageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.asyncio import Redis

_MOST: Final = 64


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the run's event stream."""

    id: bytes
    chunk: int
    body: Counted | Failed

    @classmethod
    def read(cls, entry: bytes, fields: dict[bytes, bytes], chunks: int) -> Event:
        """Read a stream entry of a run with so many chunks.

        Raises:
            MessageError: It is not what workers write.
        """
        try:
            chunk, outcome = int(fields[b"chunk"]), fields[b"outcome"]
            body = orjson.loads(fields[b"body"])
        except (KeyError, ValueError) as error:
            raise MessageError(f"event {entry.decode()}: {error!r}") from error
        if not 0 <= chunk < chunks:
            raise MessageError(f"event {entry.decode()}: no chunk {chunk}")
        if outcome == b"counted":
            return cls(entry, chunk, Counted.from_json(body))
        return cls(entry, chunk, Failed.from_json(body))


class Events:
    """Reads events until they are dropped; what is not dropped comes again.

    Reading always begins at the stream's start, so that no position has to be remembered: a Redis
    that lost its memory, or whose clock went back, begins a stream with ids of any height.
    """

    def __init__(self, redis: Redis, run: str, chunks: int, warn: Callable[[str], None]) -> None:
        self._redis = redis
        self._key = events_key(run)
        self._chunks = chunks
        self._warn = warn

    async def read(self, block_ms: int | None) -> list[Event]:
        """The next events; waits for the first up to `block_ms`, or not at all."""
        # redis-py types its answers for all protocols and decodings at once.
        entries: Any = await self._redis.xread({self._key: b"0-0"}, count=_MOST, block=block_ms)
        events = []
        for _stream, items in entries:
            for entry, fields in items:
                try:
                    events.append(Event.read(entry, fields, self._chunks))
                except MessageError as error:
                    self._warn(f"an event that is not a worker's was left aside: {error}")
                    await self._redis.xdel(self._key, entry)
        return events

    async def drop(self, event: Event) -> None:
        """Remove an event: what it tells of is in the ledger, or settled otherwise."""
        await self._redis.xdel(self._key, event.id)
