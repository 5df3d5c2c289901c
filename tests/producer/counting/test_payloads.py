"""A payload is fetched whole or not at all."""

from __future__ import annotations

import asyncio
import random
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import ResponseError

from bpefleet.producer.counting.through_redis.payloads import Payloads
from tests.eventually import eventually
from tests.faults.proxy import Proxy
from tests.faults.server import Server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from redis import Redis

_SIZES = (1, 1000, 65_535, 65_536, 65_537, 1_000_000, 9_000_001)


def fetching(url: str, act: Callable[[Payloads], Awaitable[object]]) -> None:
    async def main() -> None:
        async with Payloads(url) as fetcher:
            await act(fetcher)

    asyncio.run(main())


async def one(fetcher: Payloads, key: str, most: int = 10_000_000) -> bytes | None:
    return (await fetcher.fetch({key: most})).get(key)


def test_what_was_stored_is_fetched(connection: Redis, redis_url: str) -> None:
    stored = {f"payload:{size}": random.Random(size).randbytes(size) for size in _SIZES}
    for key, payload in stored.items():
        connection.set(key, payload)

    async def fetch(fetcher: Payloads) -> None:
        assert await one(fetcher, "gone") is None
        at_once = await asyncio.gather(*(one(fetcher, key) for key in stored))
        assert at_once == list(stored.values())
        together = await fetcher.fetch(dict.fromkeys(("gone", *stored), 10_000_000))
        assert together == stored
        assert all(type(payload) is bytes for payload in together.values())

    fetching(redis_url, fetch)


def test_what_is_larger_than_a_payload_may_be_is_not_fetched(
    connection: Redis, redis_url: str
) -> None:
    connection.set("small", bytes(100_000))
    connection.set("large", bytes(100_001))

    async def fetch(fetcher: Payloads) -> None:
        for _ in range(2):  # an answer left half read would spoil the next
            assert await one(fetcher, "large", 100_000) is None
            assert await one(fetcher, "small", 100_000) == bytes(100_000)

    fetching(redis_url, fetch)


def test_what_is_no_string_is_left_out(connection: Redis, redis_url: str) -> None:
    connection.rpush("list", b"x")
    connection.set("payload", b"y")

    async def fetch(fetcher: Payloads) -> None:
        assert await fetcher.fetch({"list": 10, "payload": 10}) == {"payload": b"y"}

    fetching(redis_url, fetch)


def test_an_error_is_that_of_redis(connection: Redis, redis_url: str) -> None:
    connection.set("payload", b"y")
    with pytest.raises(ResponseError, match="out of range"):
        fetching(redis_url, lambda fetcher: one(fetcher, "payload", 1 << 70))


def test_a_connection_that_is_lost_is_made_again(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Server(tmp_path))
        proxy = stack.enter_context(Proxy(server.port))
        payload = random.Random(0).randbytes(5_000_000)
        with server.client() as client:
            client.set("key", payload)

        async def fetch(fetcher: Payloads) -> None:
            assert await one(fetcher, "key") == payload
            proxy.cut()
            task = asyncio.create_task(one(fetcher, "key"))
            await asyncio.to_thread(eventually, lambda: proxy.holds)
            proxy.drop()
            proxy.mend()
            assert await task == payload
            assert await one(fetcher, "key") == payload

        fetching(proxy.url, fetch)


def test_waiting_for_a_silent_server_can_be_cancelled(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Server(tmp_path))
        proxy = stack.enter_context(Proxy(server.port))

        async def fetch(fetcher: Payloads) -> None:
            assert await one(fetcher, "key") is None
            proxy.cut()
            loop = asyncio.get_running_loop()
            task = asyncio.create_task(one(fetcher, "key"))
            await asyncio.to_thread(eventually, lambda: proxy.holds)
            start = loop.time()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await loop.shutdown_default_executor()  # its thread has ended, too
            assert loop.time() - start < 5

        fetching(proxy.url, fetch)
