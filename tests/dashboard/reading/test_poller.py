"""Looking on costs little: nothing while nobody looks, and one look for all who do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from bpefleet.dashboard.reading.poller import Poller
from bpefleet.shared.redis.connect import connect_async
from tests.dashboard.samples import RUN, post, sample_detail, sample_snapshot

if TYPE_CHECKING:
    from redis import Redis


def calls(connection: Redis, command: str) -> int:
    stats = connection.info("commandstats")
    return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))


def test_all_pages_share_one_look_and_none_looks_for_nobody(
    redis_url: str, connection: Redis
) -> None:
    post(connection, sample_snapshot(), sample_detail())
    connection.config_resetstat()

    async def watch() -> tuple[int, int, int]:
        async with connect_async(redis_url) as redis:
            poller = Poller(redis)
            following = asyncio.create_task(poller.follow())
            await asyncio.sleep(0.3)
            idle = calls(connection, "zrevrange")
            await asyncio.gather(*(_page(poller) for _ in range(20)))
            seen = poller.looks
            await asyncio.sleep(1.5)
            after = poller.looks - seen
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            return idle, seen, after

    idle, seen, after = asyncio.run(watch())
    assert idle == 0
    assert 2 <= seen <= 5
    assert after <= 1
    assert calls(connection, "zrevrange") == seen + after
    # What does not change is read once.
    assert calls(connection, "getrange") == 2


async def _page(poller: Poller) -> None:
    with poller.watching(RUN):
        while poller.looks < 2 or RUN not in poller.views:
            await poller.after(poller.looks)
        view = poller.views[RUN]
        assert view.detail is not None


def test_a_new_status_is_seen_and_one_that_expired_is_gone(
    redis_url: str, connection: Redis
) -> None:
    async def look() -> list[int | None]:
        found = []
        async with connect_async(redis_url) as redis:
            poller = Poller(redis)
            for unique in (1, 2, None):
                if unique is None:
                    connection.delete(f"bpefleet:status:{RUN}")
                    connection.zadd("bpefleet:runs", {RUN: 1.0})
                else:
                    post(connection, sample_snapshot(unique=unique))
                await poller.look(())
                view = poller.views.get(RUN)
                found.append(view.snapshot.unique if view else None)
        return found

    assert asyncio.run(look()) == [1, 2, None]
