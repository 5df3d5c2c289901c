"""How far a stage of a run is, in words for a bar or a log line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bpefleet.shared.process.amounts import of, several, size
from bpefleet.shared.wire.shown.status import MERGE, SPOOL, WRITE

if TYPE_CHECKING:
    from bpefleet.shared.wire.shown.status import Arriving, Snapshot


class Step(Struct, frozen=True):
    """How far a stage is.

    Attributes:
        stage: Its name.
        done: What is done of `total`.
        total: What there is to do; 0 if that is not known.
        facts: More about it in words, the most important first.
        rate: What is done a second; 0 if unknown.
        eta: Seconds left; None if that is not known.
        run: The run's id; empty before there is one.
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
        """The part that is done, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0


def step_of(now: Snapshot) -> Step:
    """A snapshot as the step that is shown."""
    if now.stage == MERGE:
        facts = [f"{now.merges_made:,}/{now.merges:,}"]
        rate = now.merging.rate if now.merging else 0.0
        facts += [f"{rate:,.0f}/s"] if rate else []
        return Step(MERGE, now.merges_made, now.merges, tuple(facts), rate, now.eta, now.run)
    if now.stage == WRITE:
        facts = [f"{now.written:,}/{now.tokens:,} tokens"]
        return Step(WRITE, now.written, now.tokens, tuple(facts), now.rate, now.eta, now.run)
    if now.arriving is not None:
        return _arriving(now, now.arriving)
    facts = [of(now.bytes_counted, now.bytes)]
    facts += [f"{size(now.rate)}/s"] if now.rate else []
    facts += [f"{now.all_failed:,} failed"] if now.all_failed else []
    facts += [f"{now.all_running:,} running", f"{now.counted:,}/{now.chunks:,} chunks"]
    facts += [f"{now.retries:,} retries"] if now.retries else []
    return Step(now.kind, now.bytes_counted, now.bytes, tuple(facts), now.rate, now.eta, now.run)


def _arriving(now: Snapshot, arriving: Arriving) -> Step:
    facts = [f"{size(arriving.bytes)} arrived"]
    facts += [f"{size(arriving.rate)}/s"] if arriving.rate else []
    facts += [f"{now.all_failed:,} failed"] if now.all_failed else []
    facts += [several(arriving.documents, "document")] if arriving.documents else []
    facts += [f"{size(now.bytes_counted)} counted"]
    return Step(SPOOL, arriving.bytes, 0, tuple(facts), arriving.rate, None, now.run)
