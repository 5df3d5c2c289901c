"""Shows how far shards are written: beside the run, and in its snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.observing.views.after_counting import AfterCounting
from bpefleet.shared.wire.shown.status import WRITE

if TYPE_CHECKING:
    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.ledgers.settled import Settled


class WritingView:
    """Shows writing. Writes files: not for use on an event loop."""

    def __init__(self, status: StatusFile, progress: Progress) -> None:
        self._status = status
        self._stage = AfterCounting(status, progress)

    def begin(self, ledger: Settled) -> None:
        """The stage begins, with all that is in the ledger."""
        self._stage.begin(WRITE, ledger, tokens=ledger.tokens, documents=ledger.documents)

    def wrote(self, tokens: int) -> None:
        """Show how many tokens are in shards."""
        self._stage.pace.see(tokens)
        self._stage.show(self._status.now.tokens, written=tokens)
