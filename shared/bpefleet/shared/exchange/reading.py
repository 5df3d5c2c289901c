"""Reads counts from an exchange, and makes sure that they are those that were told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from bpefleet.shared.exchange.lost import LostError

if TYPE_CHECKING:
    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Part


class Check(Protocol):
    """`bpefleet.kernel.Counts.check_payload`."""

    def __call__(
        self,
        payload: bytes,
        digest: bytes,
        *,
        max_bytes: int | None = None,
        max_entries: int | None = None,
        max_text: int | None = None,
    ) -> Any:
        """Check a payload to its end."""


def read_part(exchange: Exchange, part: Part, digest: str, signer: Signer, check: Check) -> bytes:
    """The payload of a part.

    Args:
        exchange: Where it is.
        part: What was told of it.
        digest: What its counts must depend on, hex.
        signer: Says what its fingerprint must be.
        check: Reads it to its end.

    Raises:
        LostError: It is gone, or not what was told.
        PayloadError: It is damaged, or of other options.
        StoreError: The exchange fails.
    """
    payload = exchange.read(part.file, part.size)
    fingerprint = signer.fingerprint(payload)
    if fingerprint and fingerprint != part.sha256:
        raise LostError("the SHA-256 differs")
    info = check(payload, bytes.fromhex(digest), max_entries=part.unique, max_text=part.text)
    if (info.pretokens, info.unique) != (part.pretokens, part.unique):
        raise LostError("its totals are not those that were told")
    return payload
