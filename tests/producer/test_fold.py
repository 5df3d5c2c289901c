"""The aggregator folds each chunk once, whatever the queue does, and never blocks its loop.

The server is real; the test plays the worker, so that it can misbehave.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from blockbuster import blockbuster_ctx

from bpefleet.kernel import Counts
from bpefleet.producer.attempts import Journal, read_attempts
from bpefleet.producer.chunks import RETRIES
from bpefleet.producer.directory import RunDirectory
from bpefleet.producer.enqueue import Enqueuer
from bpefleet.producer.fold import Aggregator
from bpefleet.producer.ledger import Ledger
from bpefleet.producer.options import Options, Resources
from bpefleet.producer.plan import Plan
from bpefleet.producer.progress import Progress
from bpefleet.producer.session import Session
from bpefleet.producer.sources import SourceFile
from bpefleet.producer.stop import Stop
from bpefleet.producer.watch import Watch
from bpefleet.shared.connect import connect, connect_async
from bpefleet.shared.keys import QUEUE, events_key, job_id, payload_key, run_and_chunk
from bpefleet.shared.messages import Counted, Failed, Segment

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis

CHUNKS = 12
SIZE = 20
Deliver = Callable[["Desk", int], Awaitable[None]]


class Desk:
    """What a worker can do to a run: publish counts, and announce ends."""

    def __init__(self, redis: Redis, plan: Plan) -> None:
        self.redis = redis
        self.plan = plan
        self.attempts: dict[int, int] = {}

    async def publish(self, chunk: int) -> Counted:
        counts = Counts()
        counts.add(b"the", chunk + 1)
        counts.add(f"word{chunk}".encode(), 1)
        payload = counts.encode(bytes.fromhex(self.plan.digest))
        key = payload_key(self.plan.run, chunk, random.randbytes(4).hex())
        await self.redis.set(key, payload)
        digest = hashlib.sha256(payload).hexdigest()
        return Counted(
            key, digest, len(payload), SIZE, counts.pretokens, 2, 0, 0, 0.1, 1, "w", 0.0, 0.1
        )

    async def attempt(self, chunk: int) -> str:
        """Which attempt at a chunk is under way."""
        found: Any = await self.redis.hget(f"rq:job:{job_id(self.plan.run, chunk)}", "enqueued_at")
        return str((found or b"").decode())

    async def announce(
        self, chunk: int, outcome: str, body: Counted | Failed, attempt: str | None = None
    ) -> None:
        event = {
            "chunk": chunk,
            "attempt": await self.attempt(chunk) if attempt is None else attempt,
            "outcome": outcome,
            "body": orjson.dumps(body.to_json()),
        }
        await self.redis.xadd(events_key(self.plan.run), event)  # type: ignore[arg-type]

    async def deliver(self, chunk: int) -> None:
        await self.announce(chunk, "counted", await self.publish(chunk))

    async def jobs(self, at_once: int = 100) -> AsyncIterator[int]:
        """Take jobs off the queue, in an order of its own."""
        while True:
            found: Any = await self.redis.lpop(f"rq:queue:{QUEUE}", at_once) or []
            random.shuffle(found)
            for name in found:
                place = run_and_chunk(name.decode())
                assert place is not None
                yield place[1]
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpefleet.producer.chunks.PAUSES", (0.0,) * RETRIES)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = SourceFile(str(tmp_path / "text"), SIZE * CHUNKS, 0)
    chunks = [(Segment(file.path, SIZE * i, SIZE * (i + 1)),) for i in range(CHUNKS)]
    return Plan.make(Options(vocab_size=300), [file], chunks)


@asynccontextmanager
async def aggregating(
    plan: Plan, ledger: Ledger, url: str, folder: Path
) -> AsyncIterator[tuple[Aggregator, asyncio.Task[None], Desk]]:
    connection = connect(url)
    directory, journal = RunDirectory(folder, plan), Journal(folder)
    async with connect_async(url) as redis:
        session = Session(
            directory=directory,
            resources=Resources(),
            ledger=ledger,
            journal=journal,
            watch=Watch(directory, Progress(show=False)),
            stop=Stop(folder, print),
            todo=sorted(set(range(CHUNKS)) - ledger.chunks),
        )
        aggregator = Aggregator(
            session, redis=redis, enqueuer=Enqueuer(connection, plan), upkeep=lambda: None
        )
        with blockbuster_ctx():
            task = asyncio.create_task(aggregator.run())
            try:
                yield aggregator, task, Desk(redis, plan)
            finally:
                await end(task)
    connection.close()
    journal.close()


async def end(task: asyncio.Task[None]) -> None:
    """Cancel until it is so: before Python 3.12, `asyncio.wait_for` in redis-py may lose one."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)


async def serve(plan: Plan, ledger: Ledger, url: str, deliver: Deliver, folder: Path) -> Aggregator:
    """Run the aggregator to its end while `deliver` answers each job."""
    async with aggregating(plan, ledger, url, folder) as (aggregator, task, desk):

        async def work() -> None:
            async for chunk in desk.jobs():
                desk.attempts[chunk] = desk.attempts.get(chunk, 0) + 1
                await deliver(desk, chunk)

        worker = asyncio.create_task(work())
        async with asyncio.timeout(30):
            await asyncio.wait([task, worker], return_when=asyncio.FIRST_COMPLETED)
        await end(worker)
        await task
        await asyncio.to_thread(ledger.catch_up)
        await asyncio.to_thread(aggregator._enqueuer.forget_run)
        left = {key async for key in desk.redis.scan_iter("bpefleet:*")}
        assert left <= {
            b"bpefleet:runs",
            f"bpefleet:status:{plan.run}".encode(),
            f"bpefleet:detail:{plan.run}".encode(),
        }
    return aggregator


def expected() -> list[tuple[bytes, int]]:
    words = [(f"word{chunk}".encode(), 1) for chunk in range(CHUNKS)]
    return sorted([(b"the", sum(range(1, CHUNKS + 1))), *words])


def test_shuffled_and_duplicated_deliveries_count_once(
    plan: Plan, tmp_path: Path, redis_url: str
) -> None:
    async def deliver(desk: Desk, chunk: int) -> None:
        for _ in range(random.randint(1, 3)):
            await desk.deliver(chunk)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.counts.items() == expected()
    assert Ledger(tmp_path, plan.digest).counts.items() == expected()


def test_the_window_of_queued_jobs_is_bounded(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def watch() -> None:
        async with aggregating(plan, Ledger(tmp_path, plan.digest), redis_url, tmp_path) as (
            _,
            _,
            desk,
        ):
            async with asyncio.timeout(10):
                while not await desk.redis.llen(f"rq:queue:{QUEUE}"):  # noqa: ASYNC110  Redis tells nobody
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            assert await desk.redis.llen(f"rq:queue:{QUEUE}") == 4

    asyncio.run(watch())


def test_a_stop_at_once_needs_no_cancellation(plan: Plan, tmp_path: Path, redis_url: str) -> None:
    async def interrupt() -> int:
        async with aggregating(plan, Ledger(tmp_path, plan.digest), redis_url, tmp_path) as (
            aggregator,
            task,
            desk,
        ):
            await asyncio.sleep(0.3)
            aggregator._session.stop.now = True
            async with asyncio.timeout(10):
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
            async with asyncio.timeout(10):
                taken = await anext(desk.jobs(1))
                aggregator._session.stop.request()
                while aggregator.chunks.queued != {taken}:  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                assert not await desk.redis.llen(f"rq:queue:{QUEUE}")
                assert await desk.attempt(taken)
                await asyncio.sleep(0.5)
                assert not task.done()
                await desk.deliver(taken)
                await task
            await asyncio.to_thread(ledger.catch_up)
            left = [key async for key in desk.redis.scan_iter("bpefleet:payload:*")]
            assert (ledger.chunks, left) == ({taken}, [])
        return ledger.chunks

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
            async with asyncio.timeout(10):
                taken = await anext(desk.jobs(1))
                aggregator._session.stop.request()
                while aggregator.chunks.queued != {taken}:  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                await desk.redis.rpush(f"rq:queue:{QUEUE}", job_id(plan.run, taken))
                await task
            assert not await desk.redis.llen(f"rq:queue:{QUEUE}")

    asyncio.run(stop())


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
                counted = replace(counted, sha256="0" * 64)
        await desk.announce(chunk, "counted", counted)

    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.counts.items() == expected()


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
    assert list(aggregator.chunks.failed) == [5]
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
    assert {c: f.error for c, f in aggregator.chunks.failed.items()} == {7: "gone"}
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
    assert aggregator.chunks.failed == {}
    assert ledger.counts.items() == expected()
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
    assert aggregator.chunks.failed == {}
    assert ledger.counts.items() == expected()


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
    assert ledger.counts.items() == expected()
    assert aggregator.chunks.retries == CHUNKS
    assert not any(attempt.final for each in read_attempts(tmp_path).values() for attempt in each)


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
    assert ledger.counts.items() == expected()


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
    assert ledger.counts.items() == expected()
