"""Jobs in Redis are no more than what they leave there has room for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.queueing import window
from bpefleet.producer.queueing.serving.workers_seen import WorkersSeen
from bpefleet.producer.store.ledgers.ledger import Ledger
from tests.eventually import PATIENCE
from tests.producer.counting.desk import CHUNKS, SIZE, aggregating, expected, make_plan

if TYPE_CHECKING:
    from pathlib import Path

DONE = 5


@pytest.mark.parametrize(
    ("room", "first", "later"),
    [
        (1 << 30, 9, CHUNKS - DONE),  # three for each worker
        (7 * SIZE // 5, 7, 4),  # a fifth of the text is expected; the counts turn out to be larger
    ],
)
def test_it_goes_by_workers_and_by_bytes(
    tmp_path: Path,
    redis_url: str,
    monkeypatch: pytest.MonkeyPatch,
    room: int,
    first: int,
    later: int,
) -> None:
    monkeypatch.setattr(window, "_BYTES", room)
    monkeypatch.setattr(WorkersSeen, "__len__", lambda _: 3)
    plan = make_plan(tmp_path)
    ledger = Ledger(tmp_path, plan.digest)

    async def run() -> None:
        async with (
            aggregating(plan, ledger, redis_url, tmp_path) as (aggregator, task, desk),
            asyncio.timeout(PATIENCE),
        ):
            jobs, in_flight = desk.jobs(1), aggregator.states.in_flight
            await desk.read()
            assert len(in_flight) == first
            for _ in range(DONE):
                await desk.deliver(await anext(jobs))
            while len(ledger.chunks) < DONE or len(in_flight) > CHUNKS - DONE:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            await desk.read()
            assert len(in_flight) == later
            for _ in range(CHUNKS - DONE):
                await desk.deliver(await anext(jobs))
            await task

    asyncio.run(run())
    assert ledger.folded().items() == expected()
