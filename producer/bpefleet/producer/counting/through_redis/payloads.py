"""Fetches payloads, the only large values that a producer reads, in threads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from bpefleet.producer.queueing.batches import answers
from bpefleet.shared.redis.connect import connect

if TYPE_CHECKING:
    from collections.abc import Mapping


class Payloads:
    """Fetches payloads, several at once if need be; a context manager that closes connections."""

    def __init__(self, url: str, *, patient: bool = True) -> None:
        """Prepare to fetch.

        Args:
            url: The Redis.
            patient: Whether to wait for a server that is away.
        """
        self._connection = connect(url, patient=patient)

    async def fetch(self, wanted: Mapping[str, int]) -> dict[str, bytes]:
        """Payloads, by their keys.

        Args:
            wanted: The keys, each with the bytes that its payload has at the most. One that is
                gone, larger or of another type is left out.

        Raises:
            RedisError: Redis is lost.
        """
        try:
            # No more than one byte too many is read, whatever somebody has put there.
            found = await asyncio.to_thread(
                answers,
                self._connection,
                wanted.items(),
                lambda pipeline, item: pipeline.getrange(item[0], 0, item[1]),
            )
        except asyncio.CancelledError:
            self._connection.give_up()  # its thread may be waiting for a server that is silent
            raise
        each = zip(wanted.items(), found, strict=True)
        return {key: payload for (key, most), payload in each if payload and len(payload) <= most}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection.close()
