"""Reading a byte range of a file, whole or in blocks that can be counted apart.

Reading block by block takes less time than reading a chunk at once, as every block uses the same
memory. For 32 MiB at once, the system clears and maps eight thousand pages; that took 8 % of the
time of counting.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bpefleet.kernel.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Buffer

    from bpefleet.kernel._kernel import Cutter

    Admit: TypeAlias = Callable[[int, str], object] | None

BLOCK: Final = 1 << 20
"""Bytes of a block: enough that calls cost nothing, few enough that it stays in a cache."""

_TAIL: Final = 1 << 12
"""Bytes at the end of a block in which its last cut is looked for."""


class SegmentEndError(EOFError):
    """A file ends before its segment does."""


class Segment(Protocol):
    """A range `[start, end)` of a file: bytes of a plain text, scanned as a text of its own."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def start(self) -> int:
        """The first byte."""

    @property
    def end(self) -> int:
        """The byte after the last."""

    @property
    def format(self) -> str:
        """`text`, or what it is else; then a `records.Reader` knows what start and end are."""


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
    segment: Segment, cutter: Cutter, size: int = BLOCK, admit: Admit = None
) -> Iterator[tuple[int, bytes]]:
    """The segment as blocks that may be counted apart, with their offsets in it.

    A stretch without a cut makes its block longer.

    Args:
        segment: What to read.
        cutter: Finds the ends of blocks.
        size: Bytes of a block, about.
        admit: See `opening.opened`.

    Raises:
        OSError: The file is missing, unreadable or no regular file; `filename` is set.
        SegmentEndError: The file is shorter than `segment.end`.
    """
    tail = max(_TAIL, 4 * cutter.reach)
    with opened(segment.path, admit) as file:
        at, length = segment.start, size
        while segment.end - at > length:
            # Where the block ends is looked up first: then it is read once and copied never.
            begin = max(at, at + length - tail)
            data = _read(file, segment, begin, at + length)
            cut = cutter.last(data, cutter.reach, max(0, len(data) - cutter.reach))
            if cut is not None:
                yield at - segment.start, _read(file, segment, at, begin + cut)
                at, length = begin + cut, size
            else:
                length *= 2
        if at < segment.end:
            yield at - segment.start, _read(file, segment, at, segment.end)


def joined(
    pieces: Iterable[Buffer], cutter: Cutter, size: int = BLOCK
) -> Iterator[tuple[int, bytes]]:
    """A text that comes in pieces as blocks that may be counted apart, with their offsets in it.

    Args:
        pieces: The text, cut anywhere.
        cutter: Finds the ends of blocks.
        size: Bytes of a block, about.
    """
    at, length, held = 0, size, 0
    # Views, so that a byte is copied once: when its block is joined.
    parts: list[memoryview] = []
    tail = max(_TAIL, 4 * cutter.reach)
    for piece in pieces:
        parts.append(memoryview(piece))
        held += len(parts[-1])
        if held < length:
            continue
        if len(parts[-1]) < tail:
            parts = [memoryview(b"".join(parts))]
        last = parts.pop()
        near = bytes(last[-tail:])
        cut = cutter.last(near, cutter.reach, max(0, len(near) - cutter.reach))
        if cut is not None:
            cut += len(last) - len(near)
            block = b"".join((*parts, last[:cut]))
            yield at, block
            at += len(block)
            parts, held, length = [last[cut:]], len(last) - cut, size
        else:
            parts.append(last)
            length = 2 * held
    if held:
        yield at, b"".join(parts)


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
