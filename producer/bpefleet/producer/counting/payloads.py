"""Fetching payloads, the only large values that a producer reads.

redis-py joins a large answer from pieces and copies it twice more, each time into fresh memory, and
touching that is what takes long. Here the answer goes from the socket to its place: 6.6 MB in a new
process take 4 ms of CPU time in place of 10.

Whatever is unusual is left to redis-py and its patience: a lost connection, an error, a refusal.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Self

from redis.exceptions import RedisError

from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from redis.asyncio import Redis

_FIRST: Final = 1 << 16
_END: Final = b"\r\n"


class _UnusualError(ValueError):
    """The answer is no value."""


class Payloads:
    """Fetches payloads, several at once if need be; a context manager that closes connections."""

    def __init__(self, url: str, redis: Redis) -> None:
        """Prepare to fetch.

        Args:
            url: The Redis.
            redis: Asked where fetching as above fails.
        """
        self._quick = connect(url, patient=False)
        self._redis = redis

    async def fetch(self, key: str, most: int = LARGEST_PAYLOAD) -> bytes | None:
        """A payload; None if it is gone, or larger than `most` bytes.

        Raises:
            RedisError: Redis is lost.
        """
        sockets: list[socket.socket] = []
        try:
            return await asyncio.to_thread(self._receive, key, most, sockets)
        except (RedisError, OSError, ValueError):
            if await self._redis.strlen(key) > most:
                return None
            payload: Any = await self._redis.get(key)
            return payload  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            for each in sockets:  # its thread may be waiting for a server that is silent
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._quick.close()

    def _receive(self, key: str, most: int, sockets: list[socket.socket]) -> bytes | None:
        pool = self._quick.connection_pool
        connection: Any = pool.get_connection()
        try:
            connection.send_command("GET", key)
            # redis-py has no way to receive into memory of one's own.
            sockets.append(connection._sock)  # noqa: SLF001
            payload = _bulk_string(connection._sock, most)  # noqa: SLF001
        except BaseException:
            connection.disconnect()  # the rest of the answer may be on its way
            raise
        finally:
            pool.release(connection)
        return payload


def _bulk_string(source: socket.socket, most: int = LARGEST_PAYLOAD) -> bytes | None:
    """Read an answer that is a string (RESP2: `$<bytes>`, the string, each with CRLF) or none."""
    data = b""
    while _END not in data:
        data += _some(source)
    head, _, data = data.partition(_END)
    if not head.startswith(b"$") or int(head[1:]) > most:
        raise _UnusualError
    if (size := int(head[1:])) < 0:
        return None
    return data[:size] if len(data) >= size + len(_END) else _rest(source, data, size)


def _rest(source: socket.socket, data: bytes, size: int) -> bytes:
    """A string of which `data` has been read, then its CRLF."""
    memory = BytesIO()
    memory.seek(size + len(_END) - 1)
    memory.write(b"\0")
    with memory.getbuffer() as view:
        view[: len(data)] = data
        at = len(data)
        while at < len(view):
            if not (got := source.recv_into(view[at:])):
                raise ConnectionError
            at += got
    memory.truncate(size)
    return memory.getvalue()  # the memory itself, no copy


def _some(source: socket.socket) -> bytes:
    if not (data := source.recv(_FIRST)):
        raise ConnectionError
    return data
