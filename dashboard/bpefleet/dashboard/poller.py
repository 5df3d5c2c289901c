"""Looks into Redis about once a second for all pages together, and not at all if there are none."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError, ResponseError

from bpefleet.dashboard.view import RUN_NAME, View, read_view
from bpefleet.shared.keys import QUEUE, RUNS, detail_key, report_key, status_key
from bpefleet.shared.messages import MessageError
from bpefleet.shared.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from redis.asyncio import Redis

EVERY: Final = 1.0
_GAP: Final = 0.1
"""Seconds between two looks at least, however many pages are opened."""

_PATIENCE: Final = 3.0
"""Seconds for a look: with those between two, a Redis that is away is told of within five."""
_MOST_RUNS: Final = 200
_LARGEST: Final = 64 << 20
"""Bytes of a status or detail that are read: thousands of failures, or chunks by the million."""

_log: Final = logging.getLogger("bpefleet.dashboard")


@dataclass(slots=True)
class _Known:
    """A run, and its score in the set of runs when its status and when its detail were read."""

    view: View
    score: float
    detail_score: float
    report: bool


class Poller:
    """Keeps the views of all runs.

    Attributes:
        views: By run, the latest first.
        problem: Why Redis could not be read; empty if it could.
        queue_jobs: Jobs that no worker has taken, when it was last looked for all details.
        looks: How often it was looked.
        reports: The runs that have a report.
    """

    def __init__(self, redis: Redis) -> None:
        self.views: dict[str, View] = {}
        self.problem = ""
        self.queue_jobs = 0
        self.looks = 0
        self.reports: frozenset[str] = frozenset()
        self._redis = redis
        self._known: dict[str, _Known] = {}
        self._odd: set[str] = set()
        self._watched: Counter[str] = Counter()
        self._wanted = asyncio.Event()
        self._looked = asyncio.Condition()
        self._lock = asyncio.Lock()
        self._last = 0.0

    async def follow(self) -> None:
        """Look whenever someone watches; for a task of its own."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY if self._watched else None):
                    await self._wanted.wait()
            self._wanted.clear()
            await self.look(tuple(self._watched))
            await asyncio.sleep(_GAP)

    @contextmanager
    def watching(self, run: str) -> Iterator[None]:
        """Have it looked for all runs, and for the detail of one if its name is not empty."""
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
                _log.warning("Redis answers again")
            self.problem = ""
        except (RedisError, OSError, TimeoutError) as error:
            if not self.problem:
                _log.warning("Redis does not answer: %s", printable(str(error)))
            self.problem = "Redis does not answer; what is shown is old"
        async with self._looked:
            self.looks += 1
            self._looked.notify_all()

    async def _read(self, details: Collection[str] | None) -> None:
        found: Any = await self._redis.zrevrange(RUNS, 0, _MOST_RUNS - 1, withscores=True)
        scores = {name: score for run, score in found if (name := _name(run)) is not None}
        if details is None:
            self.queue_jobs = await _length(self._redis, f"rq:queue:{QUEUE}")
        wanted = scores.keys() if details is None else scores.keys() & set(details)
        await self._renew(
            {r: s for r, s in scores.items() if r not in self._known or self._known[r].score != s},
            {r: scores[r] for r in wanted if self._detail_score(r) != scores[r]},
        )
        self._known = {r: self._known[r] for r in scores if r in self._known}
        self.views = {run: known.view for run, known in self._known.items()}
        self.reports = frozenset(run for run, known in self._known.items() if known.report)

    def _detail_score(self, run: str) -> float | None:
        return self._known[run].detail_score if run in self._known else None

    async def _renew(self, stale: dict[str, float], details: dict[str, float]) -> None:
        """Read again what changed: statuses, and details together with their status."""
        runs = [*stale, *(run for run in details if run not in stale)]
        if not runs:
            return
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                pipeline.getrange(status_key(run), 0, _LARGEST)
                pipeline.exists(report_key(run))
                if run in details:
                    pipeline.getrange(detail_key(run), 0, _LARGEST)
            answers = iter(await pipeline.execute())
        for run in runs:
            status, report = next(answers), bool(next(answers))
            detail = next(answers) if run in details else None
            score = stale[run] if run in stale else details[run]
            if view := await asyncio.to_thread(self._read_view, run, status, detail):
                self._known[run] = _Known(view, score, -1.0 if detail is None else score, report)

    def _read_view(self, run: str, status: bytes, detail: bytes | None) -> View | None:
        self._known.pop(run, None)
        if not status:  # it expired
            return None
        try:
            return read_view(run, status, detail)
        except MessageError as error:
            if run not in self._odd:
                self._odd.add(run)
                _log.warning("run %s is not shown: %s", run, printable(str(error)))
            return None


async def _length(redis: Redis, key: str) -> int:
    """The length of a list; 0 if it is none: a stranger's doing shall not hide the runs."""
    try:
        length: int = await redis.llen(key)
    except ResponseError:
        return 0
    return length


def _name(run: bytes) -> str | None:
    """A run's name, unless it is not of ours."""
    name = run.decode("utf-8", "replace")
    return name if RUN_NAME.fullmatch(name) else None
