"""How long the stages of counting took so far, which `status` shows with the snapshot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from bpefleet.producer.observing.chunk_times import STAGES, WORK, read_times, stage_seconds
from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.reports.slow_chunks import explained
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.history import FAILED, History
from bpefleet.shared.wire.keys import detail_key
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.shown.detail import Detail

_LONGEST: Final = 1e9
"""The longest time that is shown, in seconds, whatever Redis holds."""


class StatusTimes:
    """The stage times of a run: each time, what was added since is read.

    For a run named by its directory they come from its history: each chunk in all sessions. For one
    in Redis they come from its detail: the sums of this session.
    """

    def __init__(self, run: str, redis: str | None) -> None:
        """Prepare to read those of a run, named by its directory or by its id and a Redis."""
        self._history = History(Path(run), _kind(Path(run))) if Path(run).exists() else None
        self._counted = ChunkSet()
        self._seconds: Counter[str] = Counter()
        self._run = run
        self._redis = redis

    def seconds(self) -> dict[str, float]:
        """The seconds of all counted chunks by stage; empty if nothing is known.

        Raises:
            BpefleetError: It cannot be read.
        """
        if self._history is None:
            return self._in_redis()
        for attempt in self._history.new():
            if attempt.outcome != FAILED and attempt.chunk not in self._counted:
                self._counted.add(attempt.chunk)
                self._seconds.update(stage_seconds([attempt]))
        return dict(self._seconds)

    def to_json(self) -> dict[str, Any]:
        """What `status --json` adds: seconds by stage; with a directory, also each chunk's.

        Raises:
            BpefleetError: It cannot be read.
        """
        found: dict[str, Any] = {"stage_seconds": self.seconds()}
        if self._history is not None and (Path(self._run) / PLAN).exists():
            directory = RunDirectory.open(Path(self._run))
            times = explained(read_times(directory).chunks)
            by_index = sorted(times, key=lambda time: time.chunk)
            found["chunk_times"] = [time.to_json() for time in by_index]
        return found

    def told(self) -> str:
        """The seconds by stage in words, in one line; empty if nothing is known.

        Raises:
            BpefleetError: It cannot be read.
        """
        seconds = self.seconds()
        work, others = (
            ", ".join(
                f"{name} {min(seconds[name], _LONGEST):.1f} s"
                for name in names
                if seconds.get(name)
            )
            for names in (WORK, ("fold", "queue"))
        )
        return "; ".join(filter(None, (work, others)))

    def _in_redis(self) -> dict[str, float]:
        from bpefleet.producer.observing.posting import read  # noqa: PLC0415  redis is slow to import

        detail = read(self._redis or "", self._run, detail_key(self._run), Detail)
        timings = detail.timings if detail else ()
        return {timing.stage: timing.seconds for timing in timings if timing.stage in STAGES}


def _kind(run: Path) -> str:
    """The kind of job of a run's chunks; of one whose corpus still arrives they are counted."""
    if not (run / PLAN).exists():
        return COUNT.name
    return RunDirectory.open(run).plan.kind.name
