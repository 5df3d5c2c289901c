"""Reads Redis about once a second for all pages together, and not at all if there are none."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError, ResponseError

from bpefleet.dashboard.reading.runs import Runs
from bpefleet.dashboard.reading.workers import read_workers
from bpefleet.shared.process.text import line
from bpefleet.shared.wire import rq_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from redis.asyncio import Redis

    from bpefleet.dashboard.reading.view import View

logger = logging.getLogger(__name__)

WORKERS: Final = "/workers"
"""The name that the page of all workers watches; no run can have it."""

EVERY: Final = 1.0
_GAP: Final = 0.1
"""The fewest seconds between two looks, however many pages are opened."""

_REST: Final = 5.0
"""Times as long as it took to read all workers, nobody reads them again: Redis has other work."""
_PATIENCE: Final = 3.0
"""Seconds that a look may take: so an outage is shown within five."""


class Poller:
    """Keeps the views of all runs.

    Attributes:
        workers: The workers, as of the last look for `WORKERS`.
        problem: Why Redis could not be read; empty if it could.
        queue_jobs: Jobs that no worker has taken, as of the last look for all details.
        looks: The number of looks so far.
    """

    def __init__(self, redis: Redis) -> None:
        self.workers: list[dict[str, Any]] = []
        self.problem = ""
        self.queue_jobs = 0
        self.looks = 0
        self._redis = redis
        self._runs = Runs(redis)
        self._watched: Counter[str] = Counter()
        self._wanted = asyncio.Event()
        self._looked = asyncio.Condition()
        self._lock = asyncio.Lock()
        self._last = 0.0
        self._workers_due = 0.0

    @property
    def views(self) -> dict[str, View]:
        """The runs by name, the latest first."""
        return self._runs.views

    @property
    def reports(self) -> frozenset[str]:
        """The runs that have a report."""
        return self._runs.reports

    async def follow(self) -> None:
        """Look again and again while somebody watches; to be run as a task."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY if self._watched else None):
                    await self._wanted.wait()
            self._wanted.clear()
            await self.look(tuple(self._watched))
            await asyncio.sleep(_GAP)

    @contextmanager
    def watching(self, run: str) -> Iterator[None]:
        """Within the block, keep all runs up to date, and the detail of one (or `WORKERS`)."""
        self._watched[run] += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._watched[run] -= 1
            self._watched += Counter()  # drops those at zero

    async def after(self, looks: int) -> None:
        """Wait for a look later than the one of that number."""
        async with self._looked:
            await self._looked.wait_for(lambda: self.looks > looks)

    async def look_at_all(self) -> None:
        """Look for all runs and their details, unless that was done just now."""
        async with self._lock:
            if time.monotonic() - self._last >= EVERY:
                await self._look(None)
                self._last = time.monotonic()

    async def look(self, details: Collection[str]) -> None:
        """Look for all runs, and for the details of some."""
        async with self._lock:
            await self._look(details)

    async def _look(self, details: Collection[str] | None) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._read(details)
            if self.problem:
                logger.warning("Redis answers again")
            self.problem = ""
        except (RedisError, OSError, TimeoutError) as error:
            # Redis may answer and refuse: a wrong password, or a key of another type.
            refused = isinstance(error, ResponseError)
            what = "Redis refuses to tell" if refused else "Redis does not answer"
            if not self.problem:
                logger.warning("%s: %s", what, line(str(error)))
            self.problem = f"{what}; what is shown is old"
        async with self._looked:
            self.looks += 1
            self._looked.notify_all()

    async def _read(self, details: Collection[str] | None) -> None:
        if details is None:
            self.queue_jobs = await _length(self._redis, rq_keys.WAITING)
        elif WORKERS in details and (begun := time.monotonic()) >= self._workers_due:
            self.workers = await read_workers(self._redis)
            now = time.monotonic()
            self._workers_due = now + _REST * (now - begun)
        await self._runs.read(details)


async def _length(redis: Redis, key: str) -> int:
    """The length of a list; 0 if the key has another type, which must not hide the runs."""
    try:
        length: int = await redis.llen(key)
    except ResponseError:
        return 0
    return length
