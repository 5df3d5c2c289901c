"""Reads the runs that producers show, each by itself, so that a damaged one hides no other."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import RedisError, ResponseError

from bpefleet.dashboard.reading.view import RUN_NAME, View, read_view
from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import line
from bpefleet.shared.wire.keys import RUNS, detail_key, report_key, status_key
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_MOST_RUNS: Final = 200
_MOST_NAMES: Final = 100_000
"""The most names in the set of runs that are read, the latest first: many may be junk."""

_PAGE: Final = 1000
_BATCH: Final = 25
"""Runs that are read at once, which bounds the memory."""

_LARGEST_STATUS: Final = 8 << 20
"""The most bytes of a status that are read: a thousand failures take a fraction of that."""

_LARGEST_DETAIL: Final = 16 << 20
"""The most bytes of a detail that are read: enough for millions of chunks."""

_LONGEST_REASON: Final = 300


@dataclass(slots=True)
class _Known:
    """A run, and its scores in the set of runs when its status and its detail were read."""

    view: View
    score: float
    detail_score: float
    report: bool


class Runs:
    """The runs of a Redis. Only what changed is read again.

    Attributes:
        views: By run, the latest first.
        reports: The runs that have a report.
    """

    def __init__(self, redis: Redis) -> None:
        self.views: dict[str, View] = {}
        self.reports: frozenset[str] = frozenset()
        self._redis = redis
        self._known: dict[str, _Known] = {}
        self._none: dict[str, float] = {}  # names without a run, and their scores
        self._odd: set[str] = set()
        self._warnings = RepeatedWarnings(logger, "runs were not shown, or not in full")

    async def read(self, details: Collection[str] | None) -> None:
        """Read all runs, and the details of some; None for those of all.

        Raises:
            RedisError: Redis does not answer, or refuses.
        """
        seen: dict[str, float] = {}
        shown: list[str] = []
        for start in range(0, _MOST_NAMES, _PAGE):
            found: Any = await self._redis.zrevrange(
                RUNS, start, start + _PAGE - 1, withscores=True
            )
            scores = {name: score for run, score in found if (name := _name(run)) is not None}
            seen |= scores
            names = [name for name in scores if self._none.get(name) != scores[name]]
            for at in range(0, len(names), _BATCH):
                batch = {name: scores[name] for name in names[at : at + _BATCH]}
                await self._renew(batch, details)
                shown += [name for name in batch if name in self._known]
                if len(shown) >= _MOST_RUNS:
                    break
            if len(shown) >= _MOST_RUNS or len(found) < _PAGE:
                break
        self._known = {run: self._known[run] for run in shown[:_MOST_RUNS]}
        self._none = {name: score for name, score in self._none.items() if name in seen}
        self._odd &= seen.keys()
        self.views = {run: known.view for run, known in self._known.items()}
        self.reports = frozenset(run for run, known in self._known.items() if known.report)

    async def _renew(self, scores: dict[str, float], details: Collection[str] | None) -> None:
        """Read the statuses that changed, and the details together with their status."""
        wanted = {
            run
            for run, score in scores.items()
            if (details is None or run in details)
            and (run not in self._known or self._known[run].detail_score != score)
        }
        runs = [
            run
            for run, score in scores.items()
            if run in wanted or run not in self._known or self._known[run].score != score
        ]
        if not runs:
            return
        async with self._redis.pipeline(transaction=False) as pipeline:
            for run in runs:
                pipeline.exists(report_key(run))
                pipeline.getrange(status_key(run), 0, _LARGEST_STATUS)
                if run in wanted:
                    pipeline.getrange(detail_key(run), 0, _LARGEST_DETAIL)
            answers = iter(await pipeline.execute(raise_on_error=False))
        for run in runs:
            report, status = bool(_text(next(answers))), _text(next(answers))
            detail = _text(next(answers)) if run in wanted else None
            self._known.pop(run, None)
            view = await asyncio.to_thread(self._read_view, run, status, detail)
            if view is None:
                self._none[run] = scores[run]
            else:
                read = -1.0 if detail is None else scores[run]
                self._known[run] = _Known(view, scores[run], read, report)

    def _read_view(self, run: str, status: Any, detail: Any) -> View | None:
        """The view of a run; without its detail if only that cannot be read."""
        if not status:  # it expired
            return None
        try:
            return read_view(run, status, detail)
        except MessageError as error:
            self._complain(run, "not shown" if detail is None else "not shown in full", error)
        return None if detail is None else self._read_view(run, status, None)

    def _complain(self, run: str, what: str, error: Exception) -> None:
        if run not in self._odd:
            self._odd.add(run)
            text = f"run {run} is {what}: {line(str(error))[:_LONGEST_REASON]}"
            self._warnings.tell(text, run=run)


def _text(answer: Any) -> Any:
    """An answer; empty if the key has another type: anybody may have written it.

    Raises:
        RedisError: It is another error, which does not concern one run alone.
    """
    if isinstance(answer, ResponseError) and str(answer).startswith("WRONGTYPE"):
        return b""
    if isinstance(answer, RedisError):
        raise answer
    return answer


def _name(run: bytes) -> str | None:
    """A run's name; None if it is not one that bpefleet gives."""
    name = run.decode("utf-8", "replace")
    return name if RUN_NAME.fullmatch(name) else None
