"""The Redis and the workers of a run: those that are there, or some of its own."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.abandoned import requeue_abandoned
from bpefleet.producer.embedded import EmbeddedServer
from bpefleet.producer.enqueue import Enqueuer
from bpefleet.producer.fold import Aggregator
from bpefleet.producer.local_workers import LocalWorkers
from bpefleet.shared.connect import check, connect, connect_async, redacted
from bpefleet.shared.keys import QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from redis import Redis

    from bpefleet.producer.ledger import Ledger
    from bpefleet.producer.options import Resources
    from bpefleet.producer.plan import Plan
    from bpefleet.producer.progress import Progress
    from bpefleet.shared.messages import Failed

_IDLE_SECONDS: Final = 2.0


class Fleet:
    """Redis and local workers, started and stopped with the block."""

    def __init__(self, resources: Resources, progress: Progress) -> None:
        self._resources = resources
        self._progress = progress
        self._stack = ExitStack()
        self._workers: LocalWorkers | None = None
        self._url = ""
        self._idle_since: float | None = None

    def __enter__(self) -> Self:
        try:
            if self._resources.redis is None:
                self._url = self._stack.enter_context(EmbeddedServer()).url
            else:
                self._url = self._resources.redis
                check(self._url)
            if count := self._resources.local_workers:
                self._workers = self._stack.enter_context(LocalWorkers(self._url, count))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def stop(self) -> None:
        """Stop what this run started: the merge stage wants the cores and the memory."""
        self._stack.close()

    async def count(self, plan: Plan, ledger: Ledger) -> dict[int, Failed]:
        """Have all chunks that the ledger lacks counted and folded.

        Returns:
            The chunks that failed for good.
        """
        connection = connect(self._url)
        enqueuer = Enqueuer(connection, plan)
        async with connect_async(self._url) as redis:
            aggregator = Aggregator(
                plan,
                ledger,
                redis=redis,
                enqueuer=enqueuer,
                progress=self._progress,
                upkeep=self._upkeep(connection),
            )
            await aggregator.run()
        enqueuer.forget_run()
        connection.close()
        return aggregator.failed

    def _upkeep(self, connection: Redis) -> Callable[[], str | None]:
        """Looks after the workers between events; for use off the loop."""

        def upkeep() -> str | None:
            if self._workers is not None:
                self._workers.check()
            requeue_abandoned(connection)
            if connection.scard(f"rq:workers:{QUEUE}"):
                self._idle_since = None
                return None
            now = time.monotonic()
            self._idle_since = self._idle_since or now
            if now - self._idle_since < _IDLE_SECONDS or self._workers is not None:
                return None
            url = redacted(self._url)
            return f"no worker serves {url}; start one with: bpefleet worker --redis {url}"

        return upkeep
