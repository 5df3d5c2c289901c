"""What a worker says of a chunk, held against its payload and against what any chunk can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.kernel import Counts, PayloadError, PayloadInfo
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from bpefleet.shared.wire.messages import Counted

_MOST: Final = 1 << 50
"""More bytes, or seconds, than any chunk or process has."""
_UNTRUE: Final = "its totals cannot be true"


def checked(counted: Counted, payload: bytes, digest: bytes) -> PayloadInfo:
    """What a payload says of itself, if it may be folded.

    Args:
        counted: What its worker said of it.
        payload: The payload.
        digest: What its counts must depend on.

    Raises:
        PayloadError: It may not: its message says what cannot be, or differs from it, or it counts
            more than a chunk can hold.
    """
    demand_plausible(counted)
    info = Counts.check_payload(
        payload,
        digest,
        max_bytes=LARGEST_PAYLOAD,
        max_entries=counted.bytes_read,
        max_text=counted.text_bytes,
    )
    fits = (counted.pretokens, counted.unique) == (info.pretokens, info.unique)
    # No pre-token is empty, so that the sum of all is bounded by the corpus.
    if not (fits and info.pretokens <= counted.bytes_read):
        raise PayloadError(_UNTRUE)
    return info


def demand_plausible(counted: Counted) -> None:
    """Refuse numbers that no chunk can have, before they are added to the sums.

    Raises:
        PayloadError: Numbers are out of all bounds.
    """
    read = counted.bytes_read
    bounded = 0 <= counted.seconds < _MOST and 0 <= counted.peak_rss < _MOST and 0 <= read < _MOST
    parts = all(0 <= n <= read for n in (counted.replaced, counted.unmatched))
    if not (bounded and parts and 0 <= counted.absent <= counted.records < _MOST):
        raise PayloadError(_UNTRUE)
