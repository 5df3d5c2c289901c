"""Shows how far merging is: beside the run, and in its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.observing.views.after_counting import AfterCounting
from bpefleet.producer.progress.step import Step
from bpefleet.producer.training.sample_tokens import examples
from bpefleet.shared.wire.shown.status import MERGE, Merging

if TYPE_CHECKING:
    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.ledgers.settled import Settled
    from bpefleet.producer.training.sample_tokens import Picked

_WRITE: Final = Step("write", facts=("the tokenizer's files",))


class MergingView:
    """Shows merging. Writes files: not for use on an event loop."""

    def __init__(self, status: StatusFile, progress: Progress) -> None:
        self._status = status
        self._progress = progress
        self._stage = AfterCounting(status, progress)

    def begin(self, ledger: Settled) -> None:
        """The merge stage begins, with all that is in the ledger."""
        self._stage.begin(
            MERGE,
            ledger,
            pretokens=ledger.totals.pretokens,
            unique=ledger.unique,
            merging=Merging(0.0, None),
        )

    def folded(self, unique: int) -> None:
        """Show how many different pre-tokens there are in all."""
        self._status.now = replace(self._status.now, unique=unique)

    def merged(self, merges: int, tokens: Picked) -> None:
        """Show merges made so far, and examples of their tokens."""
        self._stage.pace.see(merges)
        merging = Merging(self._stage.pace.rate(), examples(tokens))
        self._stage.show(self._status.now.merges, merges_made=merges, merging=merging)

    def writing(self) -> None:
        """All merges are made, and the artifacts are being written."""
        self._progress.show(_WRITE)
