"""Through Redis: has the fleet's workers count every chunk, and folds what they find.

Counting or any other kind of job.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from redis.exceptions import OutOfMemoryError, RedisError

from bpefleet.producer.counting.early_end import told_at_once
from bpefleet.producer.counting.kinds.work import WORK
from bpefleet.producer.counting.outages.outage import StoppedInOutageError, outages_told
from bpefleet.producer.counting.through_redis.aggregator import Aggregator
from bpefleet.producer.counting.through_redis.loop import run_beside
from bpefleet.producer.counting.through_redis.payloads import Payloads
from bpefleet.producer.queueing.abandoned import end_abandoned
from bpefleet.producer.queueing.enqueue import Enqueuer
from bpefleet.shared.errors import QueueError
from bpefleet.shared.process.startup import give_back_freed_memory, prepare_for_long
from bpefleet.shared.redis.connect import connect, connect_async
from bpefleet.shared.redis.redis_url import redacted
from bpefleet.shared.wire.kinds import COUNT, REDUCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.wire.kinds import Kind
    from bpefleet.shared.wire.messages import Failed, Message

_IDLE_SECONDS: Final = 2.0


def count_there(
    session: Session,
    fleet: Fleet,
    kind: Kind = COUNT,
    meanwhile: Callable[[], object] | None = None,
) -> dict[int, Failed]:
    """Have a session's chunks counted and folded, or until a stop is asked for.

    Args:
        session: The run.
        fleet: Who does it.
        kind: What is done with them, if not counting.
        meanwhile: Called in this thread: lets the chunks arrive that are not there yet.

    Returns:
        The chunks that failed for good.

    Raises:
        QueueError: Redis is lost, for longer than the connections wait.
        NoWorkersError: The local workers ended unasked.
        OutputError: The ledger cannot be written.
    """
    prepare_for_long()
    try:
        return run_beside(lambda: _looked_after(session, fleet, kind), meanwhile)
    except StoppedInOutageError:
        raise KeyboardInterrupt from None


async def _looked_after(session: Session, fleet: Fleet, kind: Kind) -> dict[int, Failed]:
    with told_at_once(session.arrived):
        try:
            return await _count(session, fleet, kind)
        except RedisError as error:
            raise QueueError(
                f"Redis at {redacted(fleet.url)} failed in the middle of the run: {error}",
                hint="see to it that Redis runs and has room",
            ) from error


async def _count(session: Session, fleet: Fleet, kind: Kind) -> dict[int, Failed]:
    patient = fleet.may_come_back
    with connect(fleet.url, fleet.signer, patient=patient) as connection:
        plan, resources = session.directory.plan, session.resources
        enqueuer = Enqueuer(
            connection,
            plan,
            kind=kind,
            spec=_told(session, kind),
            errors=resources.errors,
            timeout=resources.timeout,
        )
        there = session.elsewhere
        reducer = None
        if there is not None and kind is COUNT:
            reducer = Enqueuer(
                connection,
                plan,
                kind=REDUCE,
                spec=there.spec,
                timeout=resources.timeout,
                size=there.size,
                describe=there.describe,
            )
        try:
            async with (
                connect_async(fleet.url, patient=patient) as redis,
                Payloads(fleet.url, patient=patient) as payloads,
                outages_told(session.status, session.stop, fleet.url),
            ):
                aggregator = Aggregator(
                    session,
                    redis=redis,
                    payloads=payloads,
                    enqueuer=enqueuer,
                    upkeep=Upkeep(fleet, connection),
                    reducer=reducer,
                )
                await aggregator.run()
            await asyncio.to_thread(enqueuer.forget_run)
        finally:
            connection.give_up()  # a thread may still wait for it, and asyncio for the thread
    return aggregator.states.failed


def _told(session: Session, kind: Kind) -> Callable[[Plan, int, str], Message]:
    """What a worker is told of a chunk: also where to leave its counts, if not in Redis."""
    spec = WORK[kind.name].spec
    if session.elsewhere is None or kind is not COUNT:
        return spec
    place = session.elsewhere.place

    def told(plan: Plan, chunk: int, errors: str) -> Message:
        return replace(plan.spec(chunk, errors), exchange=place)

    return told


class Upkeep:
    """Looks after the workers between events; called in a thread."""

    def __init__(self, fleet: Fleet, connection: Redis) -> None:
        self._fleet = fleet
        self._connection = connection
        self._idle_since: float | None = None

    def __call__(self, workers: int) -> str | None:
        """End abandoned attempts, and say so if nobody has worked for a while.

        Args:
            workers: How many of the fleet serve the queue.

        Raises:
            NoWorkersError: The local workers ended unasked.
        """
        if self._fleet.workers is not None:
            self._fleet.workers.check()
        with suppress(OutOfMemoryError):  # it is tried again
            end_abandoned(self._connection)
        give_back_freed_memory()
        if workers:
            self._idle_since = None
            return None
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since < _IDLE_SECONDS or self._fleet.workers is not None:
            return None
        url = redacted(self._fleet.url)
        return f"no worker serves {url}; start one with: {self._fleet.worker_command}"
