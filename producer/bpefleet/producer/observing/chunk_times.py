"""How long each chunk took, stage by stage, from a run's history of attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from bpefleet.producer.store.history import FAILED, Attempt, read_attempts
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bpefleet.producer.store.directory import RunDirectory

HERE: Final = "the producer itself"
"""The worker of what was counted in process."""

WORK: Final = ("read", "scan", "encode", "publish")
"""The stages of an attempt while its worker is at it."""

STAGES: Final = ("queue", *WORK, "fold")
"""These, the wait before and the fold after."""

_FIELDS: Final = {name: f"{name}_seconds" for name in STAGES} | {"queue": "queued_seconds"}


class StageTime(Message, frozen=True):
    """A stage of the run: its wall seconds, and peak resident memory in bytes (0 if unknown)."""

    name: str
    seconds: float
    peak_rss: int


class ChunkTime(Message, frozen=True):
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


class Times(Struct, frozen=True):
    """What the history of a run tells.

    Attributes:
        ends: The attempts that counted a chunk, one each, by index.
        chunks: The times of those whose stages are known: an earlier version noted none.
    """

    ends: tuple[Attempt, ...]
    chunks: tuple[ChunkTime, ...]


def read_times(directory: RunDirectory) -> Times:
    """Read the times of a run, finished or not.

    Raises:
        OutputError: The history cannot be read.
    """
    return times_of(directory, read_attempts(directory.path, directory.plan.kind.name))


def times_of(directory: RunDirectory, history: Mapping[int, Sequence[Attempt]]) -> Times:
    """The times that a history tells, given as attempts by chunk."""
    chunks = range(directory.plan.chunk_count)
    ends = tuple(end for end in counted(history) if end.chunk in chunks)
    known = (end for end in ends if end.scan_seconds)
    return Times(ends, tuple(_time(directory, history[end.chunk], end) for end in known))


def counted(history: Mapping[int, Sequence[Attempt]]) -> list[Attempt]:
    """The attempts of a history that counted a chunk, one each, by index."""
    ends = ((end for end in history[chunk] if end.outcome != FAILED) for chunk in sorted(history))
    return [end for found in ends if (end := next(found, None))]


def stage_seconds(ends: Iterable[Attempt]) -> dict[str, float]:
    """The seconds of all counted chunks by stage: `queue`, which overlaps the others, and so on."""
    total = dict.fromkeys(STAGES, 0.0)
    for end in ends:
        for name in STAGES:
            total[name] += getattr(end, _FIELDS[name])
    return total


def took(attempt: Attempt) -> float:
    """Seconds of an attempt; 0 if unknown."""
    return max(0.0, attempt.ended - attempt.started) if attempt.started else 0.0


def _time(directory: RunDirectory, attempts: Sequence[Attempt], end: Attempt) -> ChunkTime:
    before = attempts[: attempts.index(end)]
    return ChunkTime(
        chunk=end.chunk,
        what=directory.plan.describe(end.chunk),
        bytes=end.bytes_read,
        worker=end.worker or HERE,
        attempts=len(before) + 1,
        seconds=took(end),
        failed_seconds=sum(map(took, before)),
        queued=end.queued_seconds,
        read=end.read_seconds,
        scan=end.scan_seconds,
        encode=end.encode_seconds,
        publish=end.publish_seconds,
        fold=end.fold_seconds,
    )
