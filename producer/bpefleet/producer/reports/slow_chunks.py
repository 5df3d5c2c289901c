"""Why a chunk was slow.

A chunk is compared with the median of all chunks: what it, or one of its stages, took beyond its
bytes at the median rate was *lost*, and names the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.observing.chunk_times import WORK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bpefleet.producer.observing.chunk_times import ChunkTime

_SLOW: Final = 1.25
"""A chunk or stage is slow if it takes this many times the median seconds a byte."""
_NOTABLE: Final = 0.1
"""A slow stage is named if it accounts for this share of the chunk's lost seconds."""
_LATE: Final = 3.0
"""A wait in the queue is long if it is this many times the median wait."""


@dataclass(frozen=True, slots=True)
class _Usual:
    """The medians that chunks are compared with: seconds per byte, whole and by stage; the wait."""

    whole: float
    stages: dict[str, float]
    queued: float
    workers: dict[str, float]


def explained(times: Sequence[ChunkTime]) -> list[ChunkTime]:
    """The same chunks with what they lost and why, the most lost first."""
    by_worker: dict[str, list[ChunkTime]] = {}
    for time in times:
        by_worker.setdefault(time.worker, []).append(time)
    usual = _Usual(
        whole=_median(time.seconds / time.bytes for time in times if time.bytes),
        stages={
            name: _median(getattr(time, name) / time.bytes for time in times if time.bytes)
            for name in WORK
        },
        queued=_median(time.queued for time in times),
        workers={
            name: _median(time.seconds / time.bytes for time in mine if time.bytes)
            for name, mine in by_worker.items()
        },
    )
    found = [_explain(time, usual) for time in times]
    return sorted(found, key=lambda time: (-time.lost, time.chunk))


def _explain(time: ChunkTime, usual: _Usual) -> ChunkTime:
    lost = time.seconds + time.failed_seconds - time.bytes * usual.whole
    return replace(time, lost=lost, reasons=tuple(_reasons(time, usual, lost)))


def _reasons(time: ChunkTime, usual: _Usual, lost: float) -> Iterable[str]:
    if time.attempts > 1:
        failed = time.attempts - 1
        yield (
            f"tried {time.attempts} times, {failed} failed"
            + (f" after {time.failed_seconds:.1f} s in all" if time.failed_seconds else "")
        )
    if time.queued > _LATE * usual.queued and time.queued > time.seconds:
        yield f"waited {time.queued:.1f} s for a worker (median {usual.queued:.1f} s)"
    if time.seconds <= _SLOW * time.bytes * usual.whole:
        return
    if usual.workers[time.worker] > _SLOW * usual.whole:
        rates = f"{_mb(1 / usual.workers[time.worker])}, all workers {_mb(1 / usual.whole)}"
        yield f"on a slow worker (its median {rates})"
    for name, per_byte in usual.stages.items():
        seconds, expected = getattr(time, name), time.bytes * per_byte
        if seconds > _SLOW * expected and seconds - expected > _NOTABLE * lost:
            rate, common = _mb(time.bytes / seconds), _mb(1 / per_byte) if per_byte else "none"
            yield f"slow to {name} ({rate}, median {common})"


def _mb(rate: float) -> str:
    return f"{rate / 1e6:.1f} MB/s"


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return median(found) if found else 0.0
