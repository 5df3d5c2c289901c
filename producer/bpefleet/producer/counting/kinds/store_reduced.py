"""Notes sums of counts that workers made, if what they say of them can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.store.ledgers.exchanged import Reduced as Noted
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.names import is_of
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Failed, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bpefleet.producer.counting.exchange.elsewhere import Elsewhere
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.store.ledgers.exchanged import Held
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Reduced


class StoreReduced:
    """Puts sums into the ledger of a run's exchange; see `kinds.Stores`."""

    def __init__(self, session: Session, signer: Signer) -> None:
        """Prepare to note; `signer` says what a payload's fingerprint must be."""
        self._elsewhere = session.elsewhere
        self._signer = signer

    @property
    def stored(self) -> Collection[int]:
        """The sums that are made, or not to be made."""
        return _Closed(self._elsewhere) if self._elsewhere else ()

    def largest(self, unit: int, reduced: Reduced) -> int:  # noqa: ARG002
        """0: nothing is in Redis."""
        return 0

    def add(self, results: Sequence[tuple[int, Reduced, bytes | None]]) -> list[Failed | None]:
        """Note sums; for each, what is wrong with it, if anything."""
        return [self._add(unit, reduced) for unit, reduced, _ in results]

    def _add(self, unit: int, reduced: Reduced) -> Failed | None:
        there = self._elsewhere
        if there is None:
            return _failed("this session has no exchange", reduced)
        ledger = there.ledger
        with ledger.still:
            if unit not in ledger.parts.open:
                return None
            inputs = ledger.parts.inputs(unit)
        if reduced.damaged:
            return self._lose(there, inputs, reduced)
        part = Part(
            file=reduced.file,
            sha256=reduced.sha256,
            size=reduced.size,
            pretokens=reduced.pretokens,
            unique=reduced.unique,
            text=sum(each.part.text for each in inputs),
        )
        if wrong := _untrue(part, unit, inputs) or _absent(part, there):
            return _failed(wrong, reduced)
        with ledger.still:
            if unit in ledger.parts.open:
                ledger.note([Noted(unit, part)])
        there.delete(inputs)
        return None

    def _lose(self, there: Elsewhere, inputs: list[Held], reduced: Reduced) -> Failed | None:
        """Look at the parts that a worker could not use; those that are good stay."""
        named = {place for place in reduced.damaged if place < len(inputs)}
        try:
            bad = [inputs[i] for i in sorted(named) if not there.is_good(inputs[i], self._signer)]
        except StoreError as error:
            return _failed(error.message, reduced)
        if not bad:
            return _failed("it says that parts are damaged, which are not", reduced)
        there.lose(bad)
        return None


class _Closed:
    """The sums that nobody waits for."""

    def __init__(self, there: Elsewhere) -> None:
        self._there = there

    def __contains__(self, unit: object) -> bool:
        return unit not in self._there.ledger.parts.open

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        return (unit for unit in range(len(self)) if unit in self)

    def __len__(self) -> int:
        return self._there.sums


def _untrue(part: Part, unit: int, inputs: Sequence[Held]) -> str:
    """Why a sum cannot be that of its parts; empty if it can."""
    each = [held.part for held in inputs]
    unique = [one.unique for one in each]
    if not is_of(part.file, keys.unit(unit, keys.REDUCE)):
        return "it names a foreign file"
    if part.pretokens != sum(one.pretokens for one in each):
        return "it has another number of pre-tokens than its parts"
    if not max(unique) <= part.unique <= sum(unique):
        return "its different pre-tokens cannot be those of its parts"
    if part.size > sum(one.size for one in each):
        return "it is larger than its parts"
    return ""


def _absent(part: Part, there: Elsewhere) -> str:
    """Why a sum cannot be read; empty if it can."""
    try:
        found = there.files.has(part.file, part.size)
    except StoreError as error:
        return error.message
    return "" if found else f"its sum is not in the exchange: {there.place} must be the same there"


def _failed(reason: str, reduced: Reduced) -> Failed:
    return Failed("PayloadError", reason, may_heal=True, worker=reduced.worker)
