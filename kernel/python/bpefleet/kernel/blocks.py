"""Reading a byte range of a file, whole or in blocks that can be counted apart.

A block at a time costs less than a chunk at once: its memory is used again, where a fresh 32 MiB
make the system clear and map eight thousand pages, which took 8 % of the counting.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bpefleet.kernel.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Admit: TypeAlias = Callable[[int, str], object] | None

BLOCK: Final = 1 << 20
"""Bytes of a block: large enough that a block costs nothing, small enough to stay in a cache."""

_TAIL: Final = 1 << 12
# The last space between an ASCII letter or digit and an ASCII letter, where every native rule ends
# one pre-token and begins the next.
_LAST_SAFE: Final = re.compile(rb".*[A-Za-z0-9](?= [A-Za-z])", re.DOTALL)


class SegmentEndError(EOFError):
    """A file ends before its segment does."""


class Segment(Protocol):
    """A byte range `[start, end)` of a file, scanned as a text of its own."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def start(self) -> int:
        """The first byte."""

    @property
    def end(self) -> int:
        """The byte after the last."""


def read(segment: Segment, admit: Admit = None) -> bytes:
    """The bytes of a segment.

    Args:
        segment: What to read.
        admit: See `opening.opened`.

    Raises:
        OSError: The file is missing, unreadable or no regular file; `filename` is set.
        SegmentEndError: The file is shorter than `segment.end`.
    """
    with opened(segment.path, admit) as file:
        return _read(file, segment, segment.start, segment.end)


def blocks(
    segment: Segment, special_tokens: Sequence[str], size: int = BLOCK, admit: Admit = None
) -> Iterator[tuple[int, bytes]]:
    """The segment as blocks that the native scanners may count apart, with their offsets in it.

    A stretch without a place to cut makes its block longer.

    Args:
        segment: What to read.
        special_tokens: No block ends within one.
        size: Bytes of a block, about.
        admit: See `opening.opened`.

    Raises:
        OSError: The file is missing, unreadable or no regular file; `filename` is set.
        SegmentEndError: The file is shorter than `segment.end`.
    """
    # A token without a space cannot lie across a space.
    spaced = [token.encode() for token in special_tokens if " " in token]
    with opened(segment.path, admit) as file:
        at, length = segment.start, size
        while segment.end - at > length:
            # Where the block ends is looked up first: then it is read once and copied never.
            begin = at + max(1, length - _TAIL)
            tail = _read(file, segment, begin, at + length)
            if cut := _last_cut(tail, spaced):
                yield at - segment.start, _read(file, segment, at, begin + cut)
                at, length = begin + cut, size
            else:
                length *= 2
        if at < segment.end:
            yield at - segment.start, _read(file, segment, at, segment.end)


def _last_cut(tail: bytes, spaced: Sequence[bytes]) -> int:
    """The last place in `tail` where text may be cut; 0 if there is none."""
    reach = max(map(len, spaced), default=0)
    # A token that lies across the place must be seen whole, on both sides.
    match = _LAST_SAFE.match(tail, reach, max(reach, len(tail) - reach))
    if match is None:
        return 0
    cut = match.end()
    across = (tail[cut - len(token) + 1 : cut + len(token) - 1].find(token) for token in spaced)
    return 0 if any(place >= 0 for place in across) else cut


def _read(file: int, segment: Segment, start: int, end: int) -> bytes:
    """One read gives at most 2 GiB, and a network file system may give less than asked for."""
    parts = []
    while start < end:
        part = os.pread(file, end - start, start)
        if not part:
            raise SegmentEndError(f"{segment.path} ends at byte {start}, before {segment.end}")
        parts.append(part)
        start += len(part)
    return b"".join(parts)
