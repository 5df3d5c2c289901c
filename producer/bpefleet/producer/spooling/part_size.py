"""How large the parts of a spool are. Each is a chunk: one worker counts it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.spooling.arrived import Arrived

_LEAST: Final = 4 << 20
"""Bytes that are worth a job of their own, if nobody asks for less."""
_MOST: Final = 48 << 20
"""Bytes of a part, before it is compressed. However well that goes, it must not seem to be made to
fill disks: see `decompress.MOST_FREE`.
"""
_SHARE: Final = 8
"""A part holds one in so many bytes of what has arrived: the workers begin soon, and little is left
to be counted when the last one is written.
"""
_MANY: Final = 5000
"""Parts of equal size, after which they grow: nobody knows how many there will be."""


def part_size(asked: int, arrived: Arrived) -> Callable[[], int]:
    """Tells how many bytes the next part is to have.

    Args:
        asked: Bytes of a chunk, about.
        arrived: How much has arrived.
    """

    def size() -> int:
        even = min(asked, max(_LEAST, arrived.bytes // _SHARE))
        return min(_MOST, max(even, arrived.bytes // _MANY))

    return size
