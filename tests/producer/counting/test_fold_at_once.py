"""Events are handled several at once, and nothing comes out differently for that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import BusyLoadingError

from bpefleet.kernel import Counts
from bpefleet.producer.counting.through_redis import fold
from bpefleet.producer.counting.through_redis.fold import _AT_ONCE
from bpefleet.producer.counting.through_redis.payloads import Payloads
from bpefleet.producer.queueing.events import Events
from bpefleet.producer.queueing.retries import RETRIES
from bpefleet.producer.store.history import read_attempts
from bpefleet.producer.store.ledgers import ledger as ledger_module
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.wire.keys import events_key
from bpefleet.shared.wire.messages import Counted, Failed
from tests.eventually import PATIENCE
from tests.producer.counting.desk import CHUNKS, Desk, aggregating, expected, make_plan, serve
from tests.producer.store.one_chunk import fold as fold_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.wire.event import Event


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return make_plan(tmp_path)


def test_one_slow_payload_holds_up_nothing_else(
    plan: Plan, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no more of them are in memory than are meant to be."""
    fetch, at_once, most = Payloads.fetch, 0, 0
    others_folded = asyncio.Event()

    async def slow(self: Payloads, wanted: Mapping[str, int]) -> dict[str, bytes]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        (key,) = wanted
        if key.split(":")[3] == "0":
            await others_folded.wait()
        payload = await fetch(self, wanted)
        await asyncio.sleep(0.01)
        at_once -= 1
        return payload

    monkeypatch.setattr(Payloads, "fetch", slow)
    monkeypatch.setattr(fold, "_SMALL", 0)

    async def run() -> None:
        ledger = Ledger(tmp_path, plan.digest)
        async with aggregating(plan, ledger, redis_url, tmp_path) as (_, task, desk):
            async with asyncio.timeout(PATIENCE):
                jobs = desk.jobs()
                for _ in range(CHUNKS):
                    await desk.deliver(await anext(jobs))
                while len(ledger.chunks) < CHUNKS - 1:  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                assert 0 not in ledger.chunks
                assert not task.done()
                others_folded.set()
                await task
        assert ledger.folded().items() == expected()

    asyncio.run(run())
    assert most == _AT_ONCE


def test_small_payloads_go_together_and_a_bad_one_fails_alone(
    plan: Plan, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpefleet.producer.queueing.retries.PAUSES", (0.0,) * RETRIES)
    damaged, gone, odd, good = together = range(4)  # as many as are queued without any worker
    events: list[Any] = []
    sizes: list[int] = []
    fetch = Payloads.fetch

    async def noted(self: Payloads, wanted: Mapping[str, int]) -> dict[str, bytes]:
        sizes.append(len(wanted))
        return await fetch(self, wanted)

    async def deliver(desk: Desk, chunk: int) -> None:
        if chunk not in together or desk.attempts[chunk] > 1:
            await desk.deliver(chunk)
            return
        counted = await desk.publish(chunk)
        if chunk != good:
            await desk.redis.delete(counted.key)
        if chunk == damaged:
            await desk.redis.set(counted.key, bytes(counted.size))
        if chunk == odd:
            await desk.redis.rpush(counted.key, "no payload")
        attempt, body = await desk.attempt(chunk), counted.to_bytes()
        events.append({"chunk": chunk, "attempt": attempt, "outcome": "counted", "body": body})
        if len(events) == len(together):
            async with desk.redis.pipeline() as pipeline:
                for event in events:
                    pipeline.xadd(events_key(plan.run), event)
                await pipeline.execute()

    monkeypatch.setattr(Payloads, "fetch", noted)
    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.folded().items() == expected()
    assert sizes[0] == len(together)
    tries = {chunk: len(each) for chunk, each in read_attempts(tmp_path).items()}
    assert {chunk for chunk, each in tries.items() if each > 1} == {damaged, gone, odd}


@pytest.mark.parametrize("small", [0, 1 << 16])
def test_an_event_that_cannot_be_acknowledged_now_comes_again(
    plan: Plan, tmp_path: Path, redis_url: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis fails for a moment between the ledger and the event's acknowledgement."""
    acknowledge, refused = Events.acknowledge, set[int]()

    async def fail(self: Events, events: Sequence[Event], odd: Sequence[bytes] = ()) -> None:
        if now := {event.chunk for event in events if event.chunk % 3 == 0} - refused:
            refused.update(now)
            raise BusyLoadingError("loading")
        await acknowledge(self, events, odd)

    monkeypatch.setattr(Events, "acknowledge", fail)
    monkeypatch.setattr(fold, "_SMALL", small)
    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, Desk.deliver, tmp_path))
    assert len(refused) == CHUNKS / 3
    assert ledger.folded().items() == expected()
    attempts = read_attempts(tmp_path)
    assert {chunk: len(each) for chunk, each in attempts.items()} == dict.fromkeys(range(CHUNKS), 1)


def test_the_events_of_a_chunk_are_handled_in_their_order(
    plan: Plan, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts that are fetched after a failure was told: the chunk is counted, and did not fail."""
    fetch = Payloads.fetch
    told = [asyncio.Event() for _ in range(CHUNKS)]

    async def slow(self: Payloads, wanted: Mapping[str, int]) -> dict[str, bytes]:
        for key in wanted:
            await told[int(key.split(":")[3])].wait()
        return await fetch(self, wanted)

    async def deliver(desk: Desk, chunk: int) -> None:
        attempt = await desk.attempt(chunk)
        await desk.deliver(chunk)
        await desk.announce(chunk, "failed", Failed("SourceError", "late"), attempt)
        told[chunk].set()

    monkeypatch.setattr(Payloads, "fetch", slow)
    ledger = Ledger(tmp_path, plan.digest)
    aggregator = asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert aggregator.states.failed == {}
    assert ledger.folded().items() == expected()
    attempts = read_attempts(tmp_path).values()
    assert not any(attempt.final for each in attempts for attempt in each)
    assert {each[0].outcome for each in attempts} == {"counted"}


def test_threads_may_add_to_the_ledger_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while files are folded into one."""
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 5)
    digest, many = bytes(32), 60
    ledger = Ledger(tmp_path, digest.hex())

    def add(chunk: int) -> bool:
        counts = Counts()
        counts.add_all({"the": 1, f"word{chunk}": 1})
        payload = counts.encode(digest)
        counted = Counted("", "", len(payload), 20, 2, 2, 0, 0, 0.1, 1, "", 0.0, 0.1)
        return fold_one(ledger, chunk, counted, payload)

    async def together() -> list[bool]:
        return await asyncio.gather(*(asyncio.to_thread(add, chunk) for chunk in range(many)))

    assert all(asyncio.run(together()))
    assert ledger.totals.pretokens == 2 * many
    for each in (ledger, Ledger(tmp_path, digest.hex())):
        assert each.chunks == set(range(many))
        words = dict.fromkeys((f"word{chunk}".encode() for chunk in range(many)), 1)
        assert dict(each.folded().items()) == words | {b"the": many}
