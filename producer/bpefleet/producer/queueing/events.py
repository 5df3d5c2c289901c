"""Reads the run's stream of events: which chunk ended how, as its worker tells in RQ's MULTI."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.wire.event import Event, read_event
from bpefleet.shared.wire.keys import events_key
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redis.asyncio import Redis

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.trust.signing import Signer

logger = logging.getLogger(__name__)

_MOST: Final = 64
"""Events that are returned at once, at the most."""
_MOST_REMOVED: Final = 1024
"""Entries that are read at once where most of them are only to be removed."""
_MANY_BYTES: Final = 1 << 20
"""Beyond which so many entries are not read again: they are large."""
_START: Final = b"0-0"
_SHOWN: Final = 300
"""Characters of an odd event that people are shown."""

Place = tuple[int, int]
"""Where in a stream an entry is: ids grow."""


class Events:
    """Reads the events of a run. One that is not acknowledged is read again after `rewind`.

    Whoever reads rewinds as soon as all events are acknowledged: after Redis lost its data, or its
    clock was set back, new events can have lower ids than the last one that was read.
    """

    def __init__(
        self,
        redis: Redis,
        plan: Plan,
        signer: Signer,
        others: Mapping[str, Callable[[], int]] | None = None,
    ) -> None:
        """Prepare to read.

        Args:
            redis: The Redis.
            plan: The run.
            signer: What events must be signed with.
            others: By kind, of those that are not done with the plan's chunks: how many there are.
        """
        self._redis = redis
        self._others = others or {}
        self._plan = plan
        self._signer = signer
        self._key = events_key(plan.run)
        self._last: bytes = _START
        self._at_once = _MOST
        self._odd = RepeatedWarnings(logger, "events that are not a worker's were left aside")

    def rewind(self) -> None:
        """Read from the stream's start again."""
        self._last = _START

    async def read(self, block_ms: int | None, is_known: Callable[[Event], bool]) -> list[Event]:
        """The next events; waits for the first up to `block_ms`, or not at all.

        What is no worker's, and what is known already, is removed: all that was read in one go.
        """
        # redis-py types its answers for all protocols and decodings at once.
        entries: Any = await self._redis.xread(
            {self._key: self._last}, count=self._at_once, block=block_ms
        )
        events: list[Event] = []
        known: list[Event] = []
        odd: list[bytes] = []
        size = 0
        for entry, fields in (item for _stream, items in entries for item in items):
            if len(events) == _MOST:
                break  # the others come again
            self._last = entry
            size += sum(map(len, fields.values())) if fields else 0
            if (event := self._event(entry, fields)) is None:
                odd.append(entry)
            elif is_known(event):
                known.append(event)
            else:
                events.append(event)
                about = {"chunk": event.chunk, "attempt_id": event.attempt}
                logger.debug("event %s is read", event.id, extra=about)
        await self.acknowledge(known, odd)
        mostly_removed = len(known) + len(odd) > len(events) and size <= _MANY_BYTES
        self._at_once = min(_MOST_REMOVED, 4 * self._at_once) if mostly_removed else _MOST
        return events

    async def unread(self) -> tuple[Place, Place] | None:
        """The places of the first entry that was not read and of the newest; None if all were."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.xrange(self._key, b"(" + self._last, count=1)
            pipeline.xrevrange(self._key, count=1)
            found: Any = await pipeline.execute()
        first, newest = found
        return (_place(first[0][0]), _place(newest[0][0])) if first and newest else None

    def sum_up(self) -> None:
        """Say how many events were left aside, if that was not said of each."""
        self._odd.sum_up()

    async def acknowledge(self, events: Sequence[Event], odd: Sequence[bytes] = ()) -> None:
        """Remove events, and before them their payloads: the run directory has what they told.

        Args:
            events: Which.
            odd: Entries of the stream that are no events, to be removed as well.
        """
        payloads = {key for event in events if (key := event.payload(self._plan.run))}
        ids: list[str | bytes] = [*(event.id for event in events), *odd]
        if not ids:
            return
        async with self._redis.pipeline(transaction=False) as pipeline:
            if payloads:
                pipeline.unlink(*payloads)
            pipeline.xdel(self._key, *ids)
            await pipeline.execute()

    def _event(self, entry: bytes, fields: dict[bytes, bytes]) -> Event | None:
        """A stream entry as an event; None, and said to people, if it is none."""
        most = {kind: count() for kind, count in self._others.items()}
        try:
            return read_event(
                self._signer, self._plan.run, len(self._plan.chunks), entry, fields or {}, most
            )
        except MessageError as error:
            self._odd.tell(f"an event that is not a worker's was left aside: {str(error)[:_SHOWN]}")
            return None


def _place(entry: bytes) -> Place:
    milliseconds, _, number = entry.partition(b"-")
    return int(milliseconds), int(number)
