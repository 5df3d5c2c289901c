"""What all ledgers have in common: the chunks that are done, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from threading import Lock

    from bpefleet.producer.store.ledgers.ledger_format import Totals


class Settled(Protocol):
    """The chunks that are done, in the form that views read."""

    @property
    def chunks(self) -> AbstractSet[int]:
        """Their indexes."""

    @property
    def totals(self) -> Totals:
        """Their sums."""

    @property
    def by_source(self) -> dict[int, Totals]:
        """Their sums by source, of those that have any."""

    @property
    def unique(self) -> int:
        """About how many different pre-tokens there are; 0 where none are counted."""

    @property
    def tokens(self) -> int:
        """Tokens written."""

    @property
    def documents(self) -> int:
        """Documents written."""

    @property
    def still(self) -> Lock:
        """Held while these change, for a moment each time."""
