"""Where a run's time went, from its manifest and its history of attempts."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.chunk_times import (
    HERE,
    ChunkTime,
    StageTime,
    read_times,
    stage_seconds,
    took,
)
from bpefleet.producer.reports.slow_chunks import explained
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bpefleet.producer.observing.chunk_times import Times
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.history import Attempt
    from bpefleet.producer.store.manifest import Manifest

_CLOCKS: Final = 0.5
"""Seconds that the clocks of workers on several machines may differ unnoticed."""


class WorkerTime(Message, frozen=True):
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


class Profile(Message, frozen=True):
    """Where a run's time went.

    Attributes:
        run: Its id.
        name: The name of its directory.
        counts_of: The run whose counts were merged again, in words; empty if this one counted.
        bytes: Bytes of the corpus.
        counted: Of them in the session that finished it; before that and of a merged run none.
        stages: The run's stages in order, of the session that finished it; none before that.
        counting: The seconds of all counted chunks by stage; `queue` overlaps the others.
        rate: Median bytes per second of a chunk.
        busy: Share of the count stage that the workers spent on chunks, all of them together; None
            if it took several sessions, is not over, or waited for what was to arrive.
        workers: Who counted, the most bytes first.
        chunks: All counted chunks with a known history, the most time lost first.
        unknown: Counted chunks without stage times: an earlier version counted them.
        kind: What is done with the chunks.
    """

    run: str
    name: str
    counts_of: str
    bytes: int
    counted: int
    stages: tuple[StageTime, ...]
    counting: tuple[StageTime, ...]
    rate: float
    busy: float | None
    workers: tuple[WorkerTime, ...]
    chunks: tuple[ChunkTime, ...]
    unknown: int
    kind: str = COUNT.name

    @property
    def seconds(self) -> float:
        """Of all its stages."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def counting_seconds(self) -> float:
        """Of those in which something was counted; it is counted while it is spooled, too."""
        return _seconds_counting(self.stages)


def profile(directory: RunDirectory, times: Times | None = None) -> Profile:
    """Profile a run, finished or not.

    Args:
        directory: The run.
        times: Its chunks' times, if they are read already.

    Raises:
        OutputError: The manifest or the history cannot be read.
    """
    times = times or read_times(directory)
    rates = [time.bytes / time.seconds for time in times.chunks if time.seconds]
    manifest = None if directory.plan.encoding else directory.manifest
    stages = tuple(
        StageTime(name, took.seconds, took.peak_rss)
        for name, took in (manifest.stages.items() if manifest else ())
    )
    workers = tuple(_workers(times.ends))
    total = manifest.totals.bytes if manifest else directory.plan.total_bytes
    return Profile(
        run=directory.plan.run,
        name=directory.path.absolute().name,
        counts_of=manifest.counts_of if manifest else "",
        bytes=total,
        counted=_counted(manifest, total),
        stages=stages,
        counting=_counting([end for end in times.ends if end.scan_seconds]),
        rate=median(rates) if rates else 0.0,
        busy=_busy(stages, workers, times.ends),
        workers=workers,
        chunks=tuple(explained(times.chunks)),
        unknown=len(times.ends) - len(times.chunks),
        kind=directory.plan.kind.name,
    )


def _counted(manifest: Manifest | None, total: int) -> int:
    if manifest is None or (count := manifest.stages.get("count")) is None:
        return 0  # it is not finished, or merged the counts of another run
    if count.bytes is None:  # a version before did not note it
        return total
    spool = manifest.stages.get("spool")
    return count.bytes + ((spool.bytes or 0) if spool else 0)


def _counting(known: Sequence[Attempt]) -> tuple[StageTime, ...]:
    peak = max((end.peak_rss for end in known), default=0)
    return tuple(
        StageTime(name, seconds, peak if name == "scan" else 0)
        for name, seconds in stage_seconds(known).items()
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
            seconds=sum(map(took, mine)),
            peak_rss=max(end.peak_rss for end in mine),
        )
        for name, mine in by_name.items()
    ]
    return sorted(found, key=lambda worker: (-worker.bytes, worker.name))


def _busy(
    stages: Iterable[StageTime], workers: Sequence[WorkerTime], ends: Sequence[Attempt]
) -> float | None:
    if any(stage.name == "spool" for stage in stages):
        return None
    count = _seconds_counting(stages)
    timed = [end for end in ends if end.started]
    if not count or not timed:
        return None
    span = max(end.ended for end in timed) - min(end.started for end in timed)
    if span > count + _CLOCKS:
        return None
    return sum(worker.seconds for worker in workers) / (count * len(workers))


def _seconds_counting(stages: Iterable[StageTime]) -> float:
    return sum(stage.seconds for stage in stages if stage.name in ("spool", "count"))
