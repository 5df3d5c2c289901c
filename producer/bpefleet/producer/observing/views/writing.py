"""Shows how far shards are written: beside the run, and in its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.progress.step import step_of
from bpefleet.shared.wire.shown.status import WRITE

if TYPE_CHECKING:
    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.ledgers.settled import Settled

_RATE_OVER: Final = 5.0
"""Seconds over which the rate of writing is taken."""


class WritingView:
    """Shows writing. Writes files: not for use on an event loop."""

    def __init__(self, status: StatusFile, progress: Progress) -> None:
        self._status = status
        self._progress = progress
        self._pace = Pace(_RATE_OVER)

    def begin(self, ledger: Settled) -> None:
        """The stage begins, with all that is in the ledger."""
        self._pace.see(0)
        snapshot = self._status.show(
            replace(
                self._status.now,
                stage=WRITE,
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
                tokens=ledger.tokens,
                documents=ledger.documents,
            )
        )
        self._progress.show(step_of(snapshot))

    def wrote(self, tokens: int) -> None:
        """Show how many tokens are in shards."""
        status = self._status
        self._pace.see(tokens)
        status.now = replace(status.now, written=tokens, eta=self._pace.left(status.now.tokens))
        self._progress.show(step_of(status.now))
        if status.due:
            status.show(status.now)
