"""How far a stage of a run is, in words for a bar or a line of a log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bpefleet.shared.status import COUNT, MERGE

if TYPE_CHECKING:
    from bpefleet.shared.status import Snapshot

_LONGEST: Final = 1e9
"""Seconds that are shown at the most: 30 years."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a stage is.

    Attributes:
        stage: Its name.
        done: What is done of `total`.
        total: What there is to do; 0 if there is no telling.
        facts: More of it in words, what matters most first.
        rate: What is done a second; 0 if unknown.
        eta: Seconds left; None if there is no telling.
        run: Of which run; empty where that is not known yet.
    """

    stage: str
    done: int = 0
    total: int = 0
    facts: tuple[str, ...] = ()
    rate: float = 0.0
    eta: float | None = None
    run: str = ""

    @property
    def share(self) -> float:
        """What is done of all, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0


def step_of(now: Snapshot) -> Step:
    """A snapshot as it is shown beside the run."""
    if now.stage == MERGE:
        facts = [f"{now.merges_made:,}/{now.merges:,}"]
        rate = now.merging.rate if now.merging else 0.0
        facts += [f"{rate:,.0f}/s"] if rate else []
        return Step(MERGE, now.merges_made, now.merges, tuple(facts), rate, now.eta, now.run)
    facts = [of(now.bytes_counted, now.bytes)]
    facts += [f"{size(now.rate)}/s"] if now.rate else []
    facts += [f"{len(now.failed):,} failed"] if now.failed else []
    facts += [f"{len(now.running):,} running", f"{now.counted:,}/{now.chunks:,} chunks"]
    facts += [f"{now.retries:,} retries"] if now.retries else []
    return Step(COUNT, now.bytes_counted, now.bytes, tuple(facts), now.rate, now.eta, now.run)


def size(count: float) -> str:
    """A number of bytes in words, such as `1.2 MB`."""
    scale, unit = _scale(count)
    return f"{count / scale:,.0f} B" if scale == 1 else f"{count / scale:,.1f} {unit}"


def of(done: int, total: int) -> str:
    """A number of bytes out of others, such as `1.2/3.4 MB`."""
    scale, unit = _scale(total)
    digits = 0 if scale == 1 or total >= 100 * scale else 1
    return f"{done / scale:,.{digits}f}/{total / scale:,.{digits}f} {unit}"


def clock(seconds: float) -> str:
    """Seconds as `0:01:05`."""
    return str(timedelta(seconds=round(max(0.0, min(seconds, _LONGEST)))))


def _scale(count: float) -> tuple[float, str]:
    scale, name = 1.0, "B"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        if count < 1000 * scale:
            break
        scale, name = 1000 * scale, unit
    return scale, name
