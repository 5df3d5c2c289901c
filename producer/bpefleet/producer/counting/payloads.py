"""Fetches payloads, the only large values that a producer reads, in threads."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD


class Payloads:
    """Fetches payloads, several at once if need be; a context manager that closes connections."""

    def __init__(self, url: str, *, patient: bool = True) -> None:
        """Prepare to fetch.

        Args:
            url: The Redis.
            patient: Whether to wait for a server that is away.
        """
        self._connection = connect(url, patient=patient)

    async def fetch(self, key: str, most: int = LARGEST_PAYLOAD) -> bytes | None:
        """A payload; None if it is gone, or larger than `most` bytes.

        Raises:
            RedisError: Redis is lost.
        """
        try:
            # No more than one byte too many is read, whatever somebody has put there.
            payload: Any = await asyncio.to_thread(self._connection.getrange, key, 0, most)
        except asyncio.CancelledError:
            self._connection.give_up()  # its thread may be waiting for a server that is silent
            raise
        return payload if 0 < len(payload) <= most else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection.close()
