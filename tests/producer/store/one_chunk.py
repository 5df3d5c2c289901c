"""One chunk, folded into a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpefleet.producer.store.ledgers.ledger import Ledger
    from bpefleet.shared.wire.messages import Counted


def fold(ledger: Ledger, chunk: int, counted: Counted, payload: bytes) -> bool:
    """Fold it; False if it was folded before. Raises what is wrong with the payload."""
    if chunk in ledger.chunks:
        return False
    (wrong,) = ledger.add_together([(chunk, counted, payload)])
    ledger.tidy()
    if wrong is not None:
        raise wrong
    return True
