"""Stores what encode jobs answer: checks that a chunk's piece is there, and notes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.corpus.bounds import can_hold
from bpefleet.shared.corpus.pieces import Extent
from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.wire.encoding import MEASURED, piece_name
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bpefleet.producer.counting.session import Session
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.encoding import Encoded


class StoreEncoded:
    """Puts what is said of pieces into a run's ledger; see `work.Stores`."""

    def __init__(self, session: Session, _signer: Signer) -> None:
        """Prepare to store."""
        self._plan = session.directory.plan
        self._encoding = self._plan.encoding
        self._ledger = session.encoded

    @property
    def stored(self) -> Collection[int]:
        """The chunks in the ledger."""
        return self._ledger.pieces.keys()

    def largest(self, _chunk: int, _encoded: Encoded) -> int:
        """There is no payload."""
        return 0

    def add(self, results: Sequence[tuple[int, Encoded, bytes | None]]) -> list[Failed | None]:
        """Note pieces; for each, what is wrong with it, if anything."""
        wrong = [self._wrong(chunk, encoded) for chunk, encoded, _ in results]
        right = zip(results, wrong, strict=True)
        self._ledger.add([(chunk, each) for (chunk, each, _), odd in right if odd is None])
        return wrong

    def _wrong(self, chunk: int, encoded: Encoded) -> Failed | None:
        if changed := self._plan.changed(chunk):
            return changed
        spec = self._plan.spec(chunk)
        if not can_hold(spec, encoded.bytes_read, encoded.records):
            return _failed("it is of another number of bytes or records", encoded)
        if self._encoding is None:  # pragma: no cover  a run that encodes nothing has none of these
            return _failed("the run encodes nothing", encoded)
        segments, width = len(spec.segments), self._encoding.width
        size = Extent.of(encoded.tokens, encoded.documents, segments, width).size
        if self._encoding.format == MEASURED:
            size = encoded.size
        try:
            there = place_of(self._encoding.place).size(piece_name(chunk))
        except BpefleetError as error:
            return _failed(error.message, encoded)
        if not there == encoded.size == size:
            return _failed(f"its piece has {there} bytes, not {size:,}", encoded)
        return None


def _failed(reason: str, encoded: Encoded) -> Failed:
    text = f"its piece is not what its worker says ({reason})"
    return Failed("PieceError", text, may_heal=True, worker=encoded.worker)
