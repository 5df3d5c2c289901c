"""An aggregator on a real server, and a desk at which a test plays its worker."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import orjson
from blockbuster import blockbuster_ctx

from bpefleet.kernel import Counts
from bpefleet.producer.counting.session import Session
from bpefleet.producer.counting.through_redis.aggregator import Aggregator
from bpefleet.producer.counting.through_redis.payloads import Payloads
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.counting import CountingView
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.observing.views.writing import WritingView
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.options import Options, Resources
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.queueing.enqueue import Enqueuer
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.exchanged.counted import AllCounted
from bpefleet.producer.store.history import Journal
from bpefleet.producer.store.stop import Stop
from bpefleet.shared.redis.connect import connect, connect_async
from bpefleet.shared.wire.keys import QUEUE, events_key, job_id, payload_key, read_job_id
from bpefleet.shared.wire.messages import Counted, Failed, Segment
from tests.eventually import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from redis.asyncio import Redis

    from bpefleet.producer.store.ledgers.ledger import Ledger

CHUNKS = 12
SIZE = 60
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

    async def read(self, times: int = 2) -> None:
        """Wait until the aggregator has gone round: it read what is no event, and dropped it."""
        for _ in range(times):
            await self.redis.xadd(events_key(self.plan.run), {"body": "none of ours"})
            while await self.redis.xlen(events_key(self.plan.run)):  # noqa: ASYNC110  nobody tells
                await asyncio.sleep(0.005)

    async def jobs(self, at_once: int = 100) -> AsyncIterator[int]:
        """Take jobs off the queue, in an order of its own."""
        while True:
            found: Any = await self.redis.lpop(f"rq:queue:{QUEUE}", at_once) or []
            random.shuffle(found)
            for name in found:
                place = read_job_id(name.decode())
                assert place is not None
                yield place[1]
            await asyncio.sleep(0.005)


def make_plan(folder: Path) -> Plan:
    """A run of `CHUNKS` chunks, of a text that nobody reads."""
    file = SourceFile(str(folder / "text"), SIZE * CHUNKS, 0)
    chunks = [(Segment(file.path, SIZE * i, SIZE * (i + 1)),) for i in range(CHUNKS)]
    return Plan.make(Options(vocab_size=300), [file], chunks)


@asynccontextmanager
async def aggregating(
    plan: Plan, ledger: Ledger, url: str, folder: Path
) -> AsyncIterator[tuple[Aggregator, asyncio.Task[None], Desk]]:
    connection = connect(url)
    directory, journal = RunDirectory(folder, plan), Journal(folder)
    status, progress = StatusFile(directory), Progress(show=False)
    async with connect_async(url) as redis, Payloads(url) as payloads:
        session = Session(
            directory=directory,
            resources=Resources(),
            ledger=ledger,
            journal=journal,
            status=status,
            counting=CountingView(
                plan, AllCounted(ledger), journal.failed, status, progress, Arrived()
            ),
            merging=MergingView(status, progress),
            writing=WritingView(status, progress),
            stop=Stop(folder),
            planned=CHUNKS,
            todo=sorted(set(range(CHUNKS)) - ledger.chunks),
        )
        aggregator = Aggregator(
            session,
            redis=redis,
            payloads=payloads,
            enqueuer=Enqueuer(connection, plan),
            upkeep=lambda _workers: None,
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
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([task, worker], return_when=asyncio.FIRST_COMPLETED)
        await end(worker)
        await task
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
