"""Stores counts: checks a chunk's payload and puts it into the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel import PayloadError
from bpefleet.producer.store.exchanged.parts import Counted as Noted
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.producer.store.ledgers.plausible import demand_plausible
from bpefleet.shared.corpus.bounds import can_hold
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.names import is_of
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD
from bpefleet.shared.wire.messages import Failed, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.producer.counting.session import Session
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Counted


class StoreCounts:
    """Puts counts into a run's ledger; see `work.Stores`."""

    def __init__(self, session: Session, signer: Signer) -> None:
        """Prepare to store; `signer` says what a payload's fingerprint must be."""
        self._plan = session.directory.plan
        self._ledger = session.counts
        self.stored = session.counted
        self._elsewhere = session.elsewhere
        self._signer = signer

    def largest(self, chunk: int, counted: Counted) -> int:
        """Bytes of the payload at the most; 0 if it will be refused."""
        # What a count of other text says of itself bounds nothing.
        fits = can_hold(self._plan.spec(chunk), counted.bytes_read, counted.records)
        return min(LARGEST_PAYLOAD, counted.largest) if fits else 0

    def add(self, results: Sequence[tuple[int, Counted, bytes | None]]) -> list[Failed | None]:
        """Put payloads into the ledger; for each, what is wrong with it, if anything."""
        right: list[tuple[int, Counted, bytes]] = []
        wrong: dict[int, Failed] = {}
        lying: dict[int, tuple[Counted, Part]] = {}
        for chunk, counted, payload in results:
            if changed := self._plan.changed(chunk):
                wrong[chunk] = changed
                continue
            try:
                if counted.file:
                    lying[chunk] = counted, self._demand_there(chunk, counted)
                else:
                    right.append((chunk, counted, self._demand_right(chunk, counted, payload)))
            except PayloadError as error:
                wrong[chunk] = _damaged(error, counted)
            except _MissingError as error:
                wrong[chunk] = _failed(str(error), counted)
        if lying and self._elsewhere:
            lines = [
                Noted(chunk, part, Totals().plus(counted))
                for chunk, (counted, part) in lying.items()
            ]
            self._elsewhere.ledger.note(lines)
        damaged = self._ledger.add_together(right)
        for (chunk, counted, _), reason in zip(right, damaged, strict=True):
            if reason is not None:
                wrong[chunk] = _damaged(reason, counted)
        return [wrong.get(chunk) for chunk, _, _ in results]

    def _demand_right(self, chunk: int, counted: Counted, payload: bytes | None) -> bytes:
        if not (most := self.largest(chunk, counted)):
            raise PayloadError("it is of another number of bytes or records")
        if payload is None:
            raise _MissingError(
                f"its counts expired before they were folded, or are larger than {most:,} bytes"
            )
        fingerprint = self._signer.fingerprint(payload)
        if fingerprint and fingerprint != counted.sha256:
            raise PayloadError("the SHA-256 differs")
        return payload

    def _demand_there(self, chunk: int, counted: Counted) -> Part:
        """What is known of counts that lie in the exchange.

        Raises:
            PayloadError: What is said of them cannot be true.
            _MissingError: They are not there.
        """
        there = self._elsewhere
        demand_plausible(counted)
        most = self.largest(chunk, counted)
        fits = counted.unique <= counted.pretokens <= counted.bytes_read
        if not (fits and counted.size <= most and is_of(counted.file, keys.unit(chunk))):
            raise PayloadError("its totals cannot be true")
        if there is None:
            raise _MissingError("its counts are in an exchange, and this session has none")
        try:
            found = there.files.has(counted.file, counted.size)
        except StoreError as error:
            raise _MissingError(error.message) from error
        if not found:
            raise _MissingError(
                f"its counts are not in the exchange: {there.place} must be the same place there"
            )
        return Part(
            file=counted.file,
            sha256=counted.sha256,
            size=counted.size,
            pretokens=counted.pretokens,
            unique=counted.unique,
            text=counted.text_bytes,
        )


def _damaged(error: PayloadError, counted: Counted) -> Failed:
    return _failed(f"its counts arrived damaged ({error})", counted)


def _failed(reason: str, counted: Counted) -> Failed:
    return Failed("PayloadError", reason, may_heal=True, worker=counted.worker)


class _MissingError(ValueError):
    """There is no payload to look at."""
