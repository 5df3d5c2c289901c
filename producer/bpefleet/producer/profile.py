"""Where a run's time went, from its manifest and its history of attempts."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.producer.attempts import COUNTED, Attempt, read_attempts
from bpefleet.producer.profile_reasons import WORK, explained
from bpefleet.shared.errors import OutputError
from bpefleet.shared.messages import Message
from bpefleet.shared.tokenizer import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bpefleet.producer.directory import RunDirectory

HERE: Final = "the producer itself"
"""The worker of what was counted in process."""

_CLOCKS: Final = 0.5
"""Seconds that the clocks of workers on several machines may differ unnoticed."""


@dataclass(frozen=True, slots=True)
class StageTime(Message):
    """A stage of the run: its wall seconds, and peak resident memory in bytes (0 if unknown)."""

    name: str
    seconds: float
    peak_rss: int


@dataclass(frozen=True, slots=True)
class ChunkTime(Message):
    """The seconds of a counted chunk.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        bytes: Bytes of text.
        worker: Who counted it.
        attempts: How often it was tried, the last time with success.
        seconds: Of the successful attempt.
        failed_seconds: Of the attempts before, as far as known.
        queued: Its wait for a worker, which others' work overlaps.
        read: Reading the text.
        scan: Splitting and counting it.
        encode: Making the payload.
        publish: Leaving it in Redis.
        fold: Adding it to the ledger, in the producer; 0 if unknown.
        lost: Seconds that it took beyond its bytes at the median rate, failed attempts included.
        reasons: Why it was slow; empty if it was not.
    """

    chunk: int
    what: str
    bytes: int
    worker: str
    attempts: int
    seconds: float
    failed_seconds: float
    queued: float
    read: float
    scan: float
    encode: float
    publish: float
    fold: float
    lost: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerTime(Message):
    """What a worker counted: chunks, bytes, the seconds it took, the greatest peak memory."""

    name: str
    chunks: int
    bytes: int
    seconds: float
    peak_rss: int

    @property
    def rate(self) -> float:
        """Bytes per second while it counted."""
        return self.bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Profile(Message):
    """Where a run's time went.

    Attributes:
        run: Its id.
        bytes: Bytes of the corpus.
        stages: The run's stages in order, of the session that finished it; none before that.
        counting: The seconds of all counted chunks by stage; `queue` overlaps the others.
        rate: Median bytes per second of a chunk.
        busy: Share of the count stage that the workers spent on chunks, all of them together; None
            if it took several sessions or is not over.
        workers: Who counted, the most bytes first.
        chunks: All counted chunks with a known history, the most time lost first.
        unknown: Counted chunks without stage times: an earlier version counted them.
    """

    run: str
    bytes: int
    stages: tuple[StageTime, ...]
    counting: tuple[StageTime, ...]
    rate: float
    busy: float | None
    workers: tuple[WorkerTime, ...]
    chunks: tuple[ChunkTime, ...]
    unknown: int


def profile(directory: RunDirectory) -> Profile:
    """Profile a run, finished or not.

    Raises:
        OutputError: The manifest or the history cannot be read.
    """
    chunks = range(len(directory.plan.chunks))
    history = {c: ends for c, ends in read_attempts(directory.path).items() if c in chunks}
    ends = [end for attempts in history.values() if (end := _success(attempts))]
    known = [end for end in ends if end.scan_seconds]
    times = [_time(directory, history[end.chunk], end) for end in known]
    counting = [StageTime("queue", sum(time.queued for time in times), 0)]
    for name in (*WORK, "fold"):
        peak = max((end.peak_rss for end in known), default=0) if name == "scan" else 0
        counting.append(StageTime(name, sum(getattr(time, name) for time in times), peak))
    rates = [time.bytes / time.seconds for time in times if time.seconds]
    stages, workers = tuple(_stages(directory)), tuple(_workers(ends))
    return Profile(
        run=directory.plan.run,
        bytes=directory.plan.total_bytes,
        stages=stages,
        counting=tuple(counting),
        rate=median(rates) if rates else 0.0,
        busy=_busy(stages, workers, ends),
        workers=workers,
        chunks=tuple(explained(times)),
        unknown=len(ends) - len(known),
    )


def read_manifest(directory: RunDirectory) -> dict[str, Any]:
    """The manifest of a finished run.

    Raises:
        OutputError: The run is not finished, or the manifest is damaged.
    """
    path = directory.path / MANIFEST
    try:
        manifest: Any = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise OutputError(
            f"{directory.path} is not finished",
            hint=f"finish it first: bpefleet resume {directory.path}",
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise OutputError(f"{path} cannot be read: {error}") from error
    if not isinstance(manifest, dict) or not manifest.keys() >= {"stages", "totals", "options"}:
        raise OutputError(f"{path} is damaged: it lacks its stages, totals or options")
    return manifest


def _stages(directory: RunDirectory) -> Iterable[StageTime]:
    if not directory.complete:
        return
    path = directory.path / MANIFEST
    for name, facts in read_manifest(directory)["stages"].items():
        try:
            yield StageTime(name, float(facts["seconds"]), int(facts["peak_rss"]))
        except (KeyError, TypeError, ValueError) as error:
            raise OutputError(f"{path} is damaged: stage {name}: {error!r}") from error


def _success(attempts: Sequence[Attempt]) -> Attempt | None:
    """The attempt that counted a chunk, if one did."""
    return next((end for end in attempts if end.outcome == COUNTED), None)


def _took(attempt: Attempt) -> float:
    return max(0.0, attempt.ended - attempt.started) if attempt.started else 0.0


def _time(directory: RunDirectory, attempts: Sequence[Attempt], end: Attempt) -> ChunkTime:
    before = attempts[: attempts.index(end)]
    return ChunkTime(
        chunk=end.chunk,
        what=directory.plan.describe(end.chunk),
        bytes=end.bytes_read,
        worker=end.worker or HERE,
        attempts=len(before) + 1,
        seconds=_took(end),
        failed_seconds=sum(map(_took, before)),
        queued=end.queued_seconds,
        read=end.read_seconds,
        scan=end.scan_seconds,
        encode=end.encode_seconds,
        publish=end.publish_seconds,
        fold=end.fold_seconds,
    )


def _workers(ends: Iterable[Attempt]) -> list[WorkerTime]:
    by_name: dict[str, list[Attempt]] = {}
    for end in ends:
        by_name.setdefault(end.worker or HERE, []).append(end)
    found = [
        WorkerTime(
            name=name,
            chunks=len(mine),
            bytes=sum(end.bytes_read for end in mine),
            seconds=sum(map(_took, mine)),
            peak_rss=max(end.peak_rss for end in mine),
        )
        for name, mine in by_name.items()
    ]
    return sorted(found, key=lambda worker: (-worker.bytes, worker.name))


def _busy(
    stages: Iterable[StageTime], workers: Sequence[WorkerTime], ends: Sequence[Attempt]
) -> float | None:
    count = sum(stage.seconds for stage in stages if stage.name == "count")
    timed = [end for end in ends if end.started]
    if not count or not timed:
        return None
    span = max(end.ended for end in timed) - min(end.started for end in timed)
    if span > count + _CLOCKS:
        return None
    return sum(worker.seconds for worker in workers) / (count * len(workers))
