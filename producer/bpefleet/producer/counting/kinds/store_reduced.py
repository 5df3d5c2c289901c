"""Notes sums of counts that workers made, if what they say of them can be true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel import SAMPLE
from bpefleet.producer.store.exchanged.parts import Reduced as Noted
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.names import is_of
from bpefleet.shared.exchange.plausible import untrue
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import FRAME, Failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bpefleet.producer.counting.exchange.elsewhere import Elsewhere
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.store.exchanged.parts import Held
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Part, Reduced


class StoreReduced:
    """Puts sums into the ledger of a run's exchange; see `work.Stores`."""

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
            inputs, files = ledger.parts.inputs(unit), ledger.parts.files(unit)
            sum_ = ledger.parts.units[unit]
        if reduced.damaged:
            return self._lose(there, inputs, files, reduced)
        wrong = _untrue(reduced, unit, sum_.ranges, files) or _absent(reduced, there)
        if wrong:
            return _failed(wrong, reduced)
        with ledger.still:
            if unit in ledger.parts.open:
                ledger.note([Noted(unit, reduced.parts)])
                ledger.see(reduced.least)
            replaced = [each for each in inputs if each.id not in ledger.parts.held]
        there.delete(part for each in replaced for part in each.parts)
        return None

    def _lose(
        self, there: Elsewhere, inputs: list[Held], files: list[Part], reduced: Reduced
    ) -> Failed | None:
        """Look at the parts that a worker could not use; those that are good stay."""
        named = sorted({place for place in reduced.damaged if place < len(files)})
        try:
            bad = [inputs[i] for i in named if not there.is_good(files[i], self._signer)]
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


def _untrue(reduced: Reduced, unit: int, ranges: int, files: Sequence[Part]) -> str:
    """Why a sum cannot be that of some parts; empty if it can."""
    parts, name = reduced.parts, keys.unit(unit, keys.REDUCE)
    if len(parts) != ranges:
        return "it has another number of ranges than was asked for"
    if not all(is_of(part.file, name) for part in parts) or len({p.file for p in parts}) < ranges:
        return "it names a foreign file"
    if sum(part.size for part in parts) > sum(part.size for part in files) + ranges * FRAME:
        return "it is larger than its parts"
    if len(reduced.least) > 8 * SAMPLE or len(reduced.least) % 8:
        return "its least hashes are none"
    return untrue(parts, files)


def _absent(reduced: Reduced, there: Elsewhere) -> str:
    """Why a sum cannot be read; empty if it can."""
    try:
        found = all(there.files.has(part.file, part.size) for part in reduced.parts)
    except StoreError as error:
        return error.message
    return "" if found else f"its sum is not in the exchange: {there.place} must be the same there"


def _failed(reason: str, reduced: Reduced) -> Failed:
    return Failed("PayloadError", reason, may_heal=True, worker=reduced.worker)
