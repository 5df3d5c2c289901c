"""What views of the stages after counting have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.progress.step import step_of

if TYPE_CHECKING:
    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.ledgers.settled import Settled

_RATE_OVER: Final = 5.0
"""Seconds over which a rate is taken."""


class AfterCounting:
    """Shows a stage whose work goes on in steps of equal size.

    Attributes:
        pace: How fast it goes.
    """

    def __init__(self, status: StatusFile, progress: Progress) -> None:
        self.pace = Pace(_RATE_OVER)
        self._status = status
        self._progress = progress

    def begin(self, stage: str, ledger: Settled, **facts: Any) -> None:
        """The stage begins, with all that is in the ledger; `facts` are further fields."""
        self.pace.see(0)
        snapshot = self._status.show(
            replace(
                self._status.now,
                stage=stage,
                counted=len(ledger.chunks),
                bytes_counted=ledger.totals.bytes_read,
                running=(),
                more_running=0,
                queued=0,
                waiting=0,
                workers=0,
                rate=0.0,
                eta=None,
                unfolded=0,
                records=ledger.totals.records,
                absent=ledger.totals.absent,
                **facts,
            )
        )
        self._progress.show(step_of(snapshot))

    def show(self, total: int, **facts: Any) -> None:
        """Show how far the stage is, of so many steps, and write it down if it is time for that."""
        status = self._status
        status.now = replace(status.now, eta=self.pace.left(total), **facts)
        self._progress.show(step_of(status.now))
        if status.due:
            status.show(status.now)
