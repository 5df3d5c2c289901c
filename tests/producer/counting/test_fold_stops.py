"""What a stop leaves to be counted, and what it takes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.wire.keys import QUEUE, job_id
from tests.eventually import PATIENCE
from tests.producer.counting.desk import aggregating, make_plan

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return make_plan(tmp_path)


def test_a_stop_at_once_needs_no_cancellation(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def interrupt() -> int:
        async with aggregating(plan, Ledger(tmp_path, plan.digest), redis_url, tmp_path) as (
            aggregator,
            task,
            desk,
        ):
            async with asyncio.timeout(PATIENCE):
                while await desk.redis.llen(f"rq:queue:{QUEUE}") < 4:  # noqa: ASYNC110  Redis tells nobody
                    await asyncio.sleep(0.01)
                aggregator._stop.now = True
                await asyncio.wait([task])
            assert task.cancelled()
            return await desk.redis.llen(f"rq:queue:{QUEUE}")

    assert asyncio.run(interrupt()) == 0


def test_a_stop_waits_for_what_a_worker_has_taken(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    """Its job says "queued" until its work-horse is up: the queue is what tells."""

    async def stop() -> set[int]:
        ledger = Ledger(tmp_path, plan.digest)
        async with aggregating(plan, ledger, redis_url, tmp_path) as (aggregator, task, desk):
            async with asyncio.timeout(PATIENCE):
                taken = await anext(desk.jobs(1))
                aggregator._stop.request()
                while set(aggregator.states.in_flight) != {taken}:  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                assert not await desk.redis.llen(f"rq:queue:{QUEUE}")
                assert await desk.attempt(taken)
                await desk.read()
                assert not task.done()
                await desk.deliver(taken)
                await task
            left = [key async for key in desk.redis.scan_iter("bpefleet:payload:*")]
            assert ({*ledger.chunks}, left) == ({taken}, [])
        return {*ledger.chunks}

    assert len(asyncio.run(stop())) == 1


def test_a_stop_takes_back_what_was_queued_again_meanwhile(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    """A worker that died between taking and beginning a job, and no other to take it."""

    async def stop() -> None:
        async with aggregating(plan, Ledger(tmp_path, plan.digest), redis_url, tmp_path) as (
            aggregator,
            task,
            desk,
        ):
            async with asyncio.timeout(PATIENCE):
                taken = await anext(desk.jobs(1))
                aggregator._stop.request()
                while set(aggregator.states.in_flight) != {taken}:  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                await desk.redis.rpush(f"rq:queue:{QUEUE}", job_id(plan.run, taken))
                await task
            assert not await desk.redis.llen(f"rq:queue:{QUEUE}")

    asyncio.run(stop())
