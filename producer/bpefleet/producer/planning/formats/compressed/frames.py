"""Where a compressed file may be divided: frames of zstd, members of gzip, blocks of xz.

Nothing is decompressed for that. Headers say how long what follows them is, or a table at the end
of the file does. Where neither is so, or what they say does not hold, the file stays whole.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.formats.compressed import gzip_members, zstd_frames
from bpefleet.shared.corpus.compressed import xz_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bpefleet.shared.corpus.files import File

    Read = Callable[[int, int], bytes]
    """Gives as many bytes of the file as are asked for from an offset on; fewer at its end."""

_MOST: Final = 20
"""As a power of two, how many places of a file are kept at the most."""


def _xz_starts(read: Read, size: int) -> Iterator[int]:
    return (block.start for block in xz_blocks.blocks(read, size)[1:])


def _xz_held(read: Read, size: int) -> int | None:
    try:
        return sum(block.text for block in xz_blocks.blocks(read, size))
    except (ValueError, struct.error):
        return None


_WALKS: Final[dict[str, Callable[[Read, int], Iterator[int]]]] = {
    "gzip": gzip_members.starts,
    "zstd": zstd_frames.starts,
    "xz": _xz_starts,
}
_HELD: Final[dict[str, Callable[[Read, int], int | None]]] = {
    "zstd": zstd_frames.held,
    "xz": _xz_held,
}


def reader(file: File) -> Read:
    """What reads an open file."""
    return lambda offset, length: file.pread(length, offset)


def decompressed_size(read: Read, size: int, compression: str) -> int | None:
    """How many bytes a file holds, if it has a table that says so."""
    return _HELD[compression](read, size) if compression in _HELD else None


def frame_starts(read: Read, size: int, compression: str) -> list[int]:
    """Where frames begin, the file's first one left out; ascending.

    Of very many, only some: those that are not too near to each other.

    Args:
        read: Reads the file.
        size: Its bytes.
        compression: One of `bpefleet.shared.corpus.formats.COMPRESSIONS`.

    Raises:
        OSError: It cannot be read.
    """
    if compression not in _WALKS:
        return []
    found = [0]
    try:
        for start in _WALKS[compression](read, size):
            if start - found[-1] > size >> _MOST:
                found.append(start)
    except (ValueError, LookupError, struct.error):
        return []  # what is wrong is told when it is counted
    return found[1:]
