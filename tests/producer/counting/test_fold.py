"""The aggregator folds each chunk once, whatever the queue does, and never blocks its loop.

The server is real; the test plays the worker, so that it can misbehave.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.queueing.retries import RETRIES
from bpefleet.producer.store.history import read_attempts
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.wire.keys import QUEUE, events_key
from bpefleet.shared.wire.messages import Counted, Failed
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan


from tests.eventually import PATIENCE
from tests.producer.counting.desk import CHUNKS, Desk, aggregating, expected, make_plan, serve


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpefleet.producer.queueing.retries.PAUSES", (0.0,) * RETRIES)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return make_plan(tmp_path)


def test_shuffled_and_duplicated_deliveries_count_once(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        for _ in range(random.randint(1, 3)):
            await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()
    assert Ledger(tmp_path, plan.digest).folded().items() == expected()


def test_the_window_of_queued_jobs_is_bounded(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def watch() -> None:
        async with aggregating(plan, Ledger(tmp_path, plan.digest), redis_url, tmp_path) as (
            _,
            _,
            desk,
        ):
            async with asyncio.timeout(PATIENCE):
                while not await desk.redis.llen(f"rq:queue:{QUEUE}"):  # noqa: ASYNC110  Redis tells nobody
                    await asyncio.sleep(0.01)
                await desk.read()
                assert await desk.redis.llen(f"rq:queue:{QUEUE}") == 4

    asyncio.run(watch())


@pytest.mark.parametrize("harm", ["damage", "truncate", "expire", "swap"])
def test_a_payload_that_arrives_damaged_or_not_at_all_is_counted_again(
    plan: Plan, tmp_path: Path, redis_url: str, harm: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        counted = await desk.publish(chunk)
        if chunk % 3 == 0 and desk.attempts[chunk] == 1:
            payload = await desk.redis.get(counted.key)
            assert payload is not None
            if harm == "damage":
                await desk.redis.setrange(counted.key, len(payload) // 2, b"\xff\x00\xff")
            elif harm == "truncate":
                await desk.redis.set(counted.key, payload[:-1])
            elif harm == "expire":
                await desk.redis.delete(counted.key)
            else:
                other = await desk.publish(chunk + 1)
                await desk.redis.copy(other.key, counted.key, replace=True)
                await desk.redis.delete(other.key)
        await desk.announce(chunk, "counted", counted)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()


def test_a_payload_that_is_always_bad_fails_its_chunk_only(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        counted = await desk.publish(chunk)
        if chunk == 5:
            await desk.redis.delete(counted.key)
        await desk.announce(chunk, "counted", counted)

    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert list(aggregator.states.failed) == [5]
    assert ledger.chunks == set(range(CHUNKS)) - {5}
    attempts = read_attempts(tmp_path)
    assert [a.final for a in attempts[5]] == [False] * RETRIES + [True]
    assert {len(a) for chunk, a in attempts.items() if chunk != 5} == {1}


def test_what_cannot_heal_fails_at_once_and_does_not_stop_the_others(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        if chunk == 7:
            await desk.announce(chunk, "failed", Failed("SourceError", "gone"))
        else:
            await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert {c: f.error for c, f in aggregator.states.failed.items()} == {7: "gone"}
    assert len(ledger.chunks) == CHUNKS - 1
    (attempt,) = read_attempts(tmp_path)[7]
    assert (attempt.outcome, attempt.kind, attempt.final) == ("failed", "SourceError", True)


def test_what_may_heal_is_counted_again(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        if desk.attempts[chunk] <= chunk % (RETRIES + 1):
            lost = Failed("AbandonedJobError", "lost", may_heal=True)
            await desk.announce(chunk, "failed", lost)
        else:
            await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert aggregator.states.failed == {}
    assert ledger.folded().items() == expected()
    attempts = read_attempts(tmp_path)
    assert {c: len(a) for c, a in attempts.items()} == {
        c: 1 + c % (RETRIES + 1) for c in range(CHUNKS)
    }


def test_a_success_after_a_failure_counts(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        if chunk == 0:
            await desk.announce(chunk, "failed", Failed("SourceError", "lost"))
        await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert aggregator.states.failed == {}
    assert ledger.folded().items() == expected()


def test_the_end_of_an_attempt_before_is_not_that_of_the_present_one(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    """Late, or played back: failures that would end the chunk, and counts that are gone."""
    before: dict[int, str] = {}

    async def deliver(desk: Desk, chunk: int) -> None:
        if desk.attempts[chunk] == 1:
            before[chunk] = await desk.attempt(chunk)
            await desk.announce(chunk, "failed", Failed("Lost", "lost", may_heal=True))
            return
        assert await desk.attempt(chunk) != before[chunk]
        gone = await desk.publish(chunk)
        await desk.redis.delete(gone.key)
        for _ in range(RETRIES + 1):
            await desk.announce(chunk, "counted", gone, before[chunk])
        await desk.announce(chunk, "failed", Failed("Error", "old"), before[chunk])
        await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()
    assert aggregator.states.retries.made == CHUNKS
    assert not any(attempt.final for each in read_attempts(tmp_path).values() for attempt in each)


def test_a_failure_played_back_while_its_chunk_is_queued_again_ends_no_attempt(
    plan: Plan, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivered: set[int] = set()

    async def go() -> tuple[int, int]:
        ledger = Ledger(tmp_path, plan.digest)
        async with aggregating(plan, ledger, redis_url, tmp_path) as (aggregator, task, desk):
            states, folding = aggregator.states, aggregator._folding
            enqueuer = aggregator._enqueuer
            put = enqueuer.put

            def late(chunks: Iterable[int]) -> dict[int, str]:
                chunks = list(chunks)
                if any(states.retries.failed(chunk) for chunk in chunks):
                    eventually(lambda: all(each.done() for each in [*folding._tasks.values()]), 20)
                return put(chunks)

            monkeypatch.setattr(enqueuer, "put", late)
            async with asyncio.timeout(30):
                jobs = desk.jobs(1)
                first = await anext(jobs)
                attempt = await desk.attempt(first)
                async with desk.redis.pipeline() as pipeline:  # so that both are read at once
                    for _ in range(2):
                        end = Failed("Kind", "why", may_heal=True)
                        await Desk(pipeline, plan).announce(first, "failed", end, attempt)
                    await pipeline.execute()
                async for chunk in jobs:
                    await desk.deliver(chunk)
                    delivered.add(chunk)
                    if len(delivered) == CHUNKS:
                        break
                await task
        return first, states.retries.made

    first, retries = asyncio.run(go())
    assert retries == 1
    attempts = read_attempts(tmp_path)
    assert [attempt.outcome for attempt in attempts[first]] == ["failed", "counted"]
    assert {len(each) for chunk, each in attempts.items() if chunk != first} == {1}


def test_an_event_that_is_played_back_adds_nothing_to_the_history(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        attempt = await desk.attempt(chunk)
        end: Counted | Failed = Failed("Kind", "why", may_heal=True)
        if desk.attempts[chunk] > 1:
            end = await desk.publish(chunk)
        for _ in range(100):
            outcome = "counted" if isinstance(end, Counted) else "failed"
            await desk.announce(chunk, outcome, end, attempt)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    attempts = read_attempts(tmp_path)
    assert sorted(attempts) == list(range(CHUNKS))
    for each in attempts.values():
        assert [attempt.outcome for attempt in each] == ["failed", "counted"]
        assert each[0].attempt < each[1].attempt
    assert ledger.folded().items() == expected()


def test_strange_events_are_left_aside(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        stream = events_key(desk.plan.run)
        await desk.redis.xadd(stream, {"chunk": "x"})
        odd: dict[Any, Any] = {"chunk": "1", "attempt": "", "outcome": "counted", "body": b"{\xff"}
        await desk.redis.xadd(stream, odd)
        await desk.redis.xadd(stream, odd | {"chunk": "99999", "body": b"{}"})
        await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()


def test_a_redis_that_forgets_everything_is_filled_again(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        if sum(desk.attempts.values()) == 3:
            await desk.redis.flushall()
        else:
            await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()
