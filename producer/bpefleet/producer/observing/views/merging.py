"""Shows how far merging is: beside the run, and in its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.progress.step import Step, step_of
from bpefleet.producer.training.sample_tokens import examples
from bpefleet.shared.wire.shown.status import MERGE, Merging

if TYPE_CHECKING:
    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.ledgers.settled import Settled
    from bpefleet.producer.training.sample_tokens import Picked

_RATE_OVER: Final = 5.0
"""Seconds over which the rate of merging is taken."""
_WRITE: Final = Step("write", facts=("the tokenizer's files",))


class MergingView:
    """Shows merging. Writes files: not for use on an event loop."""

    def __init__(self, status: StatusFile, progress: Progress) -> None:
        self._status = status
        self._progress = progress
        self._pace = Pace(_RATE_OVER)

    def begin(self, ledger: Settled) -> None:
        """The merge stage begins, with all that is in the ledger."""
        self._pace.see(0)
        snapshot = self._status.show(
            replace(
                self._status.now,
                stage=MERGE,
                counted=len(ledger.chunks),
                bytes_counted=ledger.totals.bytes_read,
                pretokens=ledger.totals.pretokens,
                unique=ledger.unique,
                running=(),
                more_running=0,
                queued=0,
                waiting=0,
                workers=0,
                rate=0.0,
                eta=None,
                unfolded=0,
                merging=Merging(0.0, None),
                records=ledger.totals.records,
                absent=ledger.totals.absent,
            )
        )
        self._progress.show(step_of(snapshot))

    def folded(self, unique: int) -> None:
        """Show how many different pre-tokens there are in all."""
        self._status.now = replace(self._status.now, unique=unique)

    def merged(self, merges: int, tokens: Picked) -> None:
        """Show merges made so far, and examples of their tokens."""
        status = self._status
        self._pace.see(merges)
        merging = Merging(self._pace.rate(), examples(tokens))
        eta = self._pace.left(status.now.merges)
        status.now = replace(status.now, merges_made=merges, merging=merging, eta=eta)
        self._progress.show(step_of(status.now))
        if status.due:
            status.show(status.now)

    def writing(self) -> None:
        """All merges are made, and the artifacts are being written."""
        self._progress.show(_WRITE)
