"""What the sweep calls silent or forgotten, and what it leaves alone."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.queueing import sweep as sweep_module
from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.queueing.enqueue import Enqueuer
from bpefleet.producer.queueing.events import Events
from bpefleet.producer.queueing.serving.workers import live_workers
from bpefleet.producer.queueing.sweep import Found, Sweep, Unit
from bpefleet.shared.redis.connect import connect_async
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.keys import FLEET_WORKER, QUEUE, events_key, job_id
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Failed
from tests.producer.counting.desk import CHUNKS, make_plan

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from redis import Redis

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.redis.connect import FleetRedis

QUEUE_KEY = f"rq:queue:{QUEUE}"


class Bench:
    """A sweep, the events that it goes by, and a Redis in which all chunks are queued."""

    def __init__(
        self, redis: FleetRedis, plan: Plan, states: ChunkStates, sweep: Sweep, events: Events
    ) -> None:
        self.redis = redis
        self.plan = plan
        self.states = states
        self.sweep = sweep
        self.events = events
        self.enqueuer = Enqueuer(redis, plan)

    def unit(self, chunk: int) -> Unit:
        return self.states, chunk

    async def look(self) -> Found:
        return await self.sweep.look(self.events)

    async def read(self) -> int:
        """Read some events; how many."""
        return len(await self.events.read(None, lambda _: False))

    def take(self, chunk: int, status: str | None) -> None:
        """Have a job taken and ended so; None for its having been forgotten."""
        name = job_id(self.plan.run, chunk)
        self.redis.lrem(QUEUE_KEY, 0, name)
        if status is None:
            self.redis.delete(f"rq:job:{name}")
        else:
            self.redis.hset(f"rq:job:{name}", "status", status)

    def announce(self, chunk: int, number: int = 1, **options: Any) -> None:
        fields: Any = event_fields(Signer(), self.plan.run, chunk, "", Failed("Kind", "why"))
        for _ in range(number):
            self.redis.xadd(events_key(self.plan.run), fields, **options)


@pytest.fixture
def at_bench(
    connection: FleetRedis, redis_url: str, tmp_path: Path
) -> Callable[[Callable[[Bench], Awaitable[None]]], None]:
    """Runs a test at a bench."""

    def run(test: Callable[[Bench], Awaitable[None]]) -> None:
        async def main() -> None:
            plan = make_plan(tmp_path)
            async with connect_async(redis_url) as redis:
                states = ChunkStates(COUNT, CHUNKS, range(CHUNKS))
                states.take(CHUNKS, 0.0)
                sweep = Sweep(plan.run, [states], redis, lambda _workers: None)
                events = Events(redis, plan, Signer())
                bench = Bench(connection, plan, states, sweep, events)
                bench.enqueuer.put(range(CHUNKS))
                assert await bench.look() == Found()
                await test(bench)

        asyncio.run(main())

    return run


@pytest.mark.parametrize("status", ["finished", "failed", "canceled", None])
def test_a_job_is_not_silent_while_its_event_waits(at_bench: Any, status: str | None) -> None:
    """However long that is, and however much comes after it."""

    async def test(bench: Bench) -> None:
        bench.announce(1, 200)
        bench.take(0, status)
        bench.announce(0)
        for _ in range(4):
            assert await bench.look() == Found()
            bench.announce(2, 10)
            assert await bench.read()

    at_bench(test)


@pytest.mark.parametrize("status", ["finished", None])
def test_a_job_is_silent_once_all_was_read_that_was_there(at_bench: Any, status: Any) -> None:
    async def test(bench: Bench) -> None:
        bench.announce(1, 100)
        bench.take(0, status)
        assert await bench.look() == Found()
        bench.announce(2, 100)
        assert await bench.read() == 64
        assert await bench.look() == Found()
        assert await bench.read() == 64  # some of what came later is left
        found = await bench.look()
        assert found == (
            Found(unannounced=[bench.unit(0)]) if status else Found(forgotten=[bench.unit(0)])
        )

    at_bench(test)


def test_without_events_to_read_a_job_is_silent_at_first_sight(at_bench: Any) -> None:
    async def test(bench: Bench) -> None:
        bench.take(0, "finished")
        bench.take(1, None)
        assert await bench.look() == Found(unannounced=[bench.unit(0)], forgotten=[bench.unit(1)])

    at_bench(test)


def test_a_stream_that_was_begun_anew_is_read_to_its_own_end(at_bench: Any) -> None:
    """Redis lost its memory, and its clock went back."""

    async def test(bench: Bench) -> None:
        bench.announce(1)
        bench.take(0, "finished")
        assert await bench.look() == Found()
        bench.redis.delete(events_key(bench.plan.run))
        for number in range(1, 101):
            bench.announce(1, id=f"{number}-0")
        assert await bench.look() == Found()
        assert await bench.read() == 64
        bench.announce(1)
        assert await bench.look() == Found()
        assert await bench.read() == 37
        bench.announce(1)
        assert await bench.look() == Found(unannounced=[bench.unit(0)])

    at_bench(test)


def test_a_job_on_no_list_is_put_back_at_the_second_sight(at_bench: Any) -> None:
    async def test(bench: Bench) -> None:
        bench.take(3, "queued")
        assert await bench.look() == Found()
        assert await bench.look() == Found(forgotten=[bench.unit(3)])

    at_bench(test)


def test_a_long_queue_is_read_in_slices(at_bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "_SLICE", 5)

    async def test(bench: Bench) -> None:
        bench.redis.rpush(QUEUE_KEY, *(f"another-{i}" for i in range(23)))
        bench.take(4, "started")
        for _ in range(2):
            assert await bench.look() == Found()
        assert bench.states.running() == [(4, "")]

    at_bench(test)


def test_only_what_is_alive_and_ours_counts_as_a_worker(at_bench: Any, connection: Redis) -> None:
    names = f"rq:workers:{QUEUE}"
    connection.sadd(names, *(f"rq:worker:dead-{i}" for i in range(1000)), "rq:worker:list", b"\xff")
    connection.rpush("rq:worker:list", "x")
    connection.hset("rq:worker:stranger", "hostname", "h")
    connection.hset("rq:worker:ours", mapping={FLEET_WORKER: "1", "hostname": "h"})
    connection.sadd(names, "rq:worker:stranger", "rq:worker:ours")
    assert live_workers(connection) == 1

    async def test(bench: Bench) -> None:
        await bench.look()
        assert len(bench.sweep.workers) == 1
        assert [seen.name for seen in bench.sweep.workers.seen] == ["ours", "stranger"]

    at_bench(test)


def test_workers_are_logged_as_they_join_and_leave(
    at_bench: Any, connection: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    """Of many at once only their number: anyone may have written them."""

    def join(name: str) -> None:
        connection.hset(rq_keys.worker_key(name), mapping={FLEET_WORKER: "1", "hostname": "h"})
        connection.sadd(rq_keys.WORKERS, rq_keys.worker_key(name))

    async def test(bench: Bench) -> None:
        join("one")
        await bench.look()
        for number in range(20):
            join(f"other-{number}")
        await bench.look()
        connection.delete(rq_keys.worker_key("one"))
        await bench.look()

    with caplog.at_level(logging.INFO, "bpefleet"):
        at_bench(test)
    assert caplog.messages == ["worker one joined", "20 workers joined", "worker one left"]


def test_what_is_queued_or_running_is_left_alone(at_bench: Any) -> None:
    async def test(bench: Bench) -> None:
        bench.take(0, "started")
        bench.take(1, "failed")
        bench.take(2, None)
        bench.take(3, "queued")
        queued = bench.redis.lrange(QUEUE_KEY, 0, -1)
        before = bench.enqueuer.put([5])
        after = bench.enqueuer.put(range(CHUNKS))
        assert after[5] == before[5]
        assert sorted(after) == list(range(CHUNKS))
        again = [job_id(bench.plan.run, chunk).encode() for chunk in (1, 2, 3)]
        assert bench.redis.lrange(QUEUE_KEY, 0, -1) == [*queued, *again]
        assert bench.enqueuer.withdraw(range(CHUNKS)) == [*range(4, CHUNKS), 1, 2, 3]
        assert bench.redis.llen(QUEUE_KEY) == 0
        assert bench.redis.keys("rq:job:*") == [f"rq:job:{job_id(bench.plan.run, 0)}".encode()]

    at_bench(test)


def test_a_redis_that_throws_keys_away_is_told_of_once(
    at_bench: Any, connection: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    before: Any = connection.config_get("maxmemory*")
    connection.config_set("maxmemory-policy", "allkeys-lru")
    try:

        async def test(bench: Bench) -> None:
            assert "noeviction" not in caplog.text  # without a limit nothing is thrown away
            bench.redis.config_set("maxmemory", "1gb")
            await bench.look()
            await bench.look()

        at_bench(test)
    finally:
        for name, value in before.items():
            connection.config_set(name, str(value))
    assert caplog.text.count("maxmemory-policy allkeys-lru") == 1
