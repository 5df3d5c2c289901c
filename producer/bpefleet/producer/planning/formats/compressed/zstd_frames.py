"""The frames of zstd files, by the seek table at the end or by the headers of frames and blocks.

As RFC 8878 (3.1) and the seekable format of zstd's repository (contrib/seekable_format) say.
"""

from __future__ import annotations

from itertools import accumulate
from struct import unpack
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FRAME: Final = 0xFD2FB528
_SKIPPABLE: Final = 0x184D2A50
_TABLE: Final = 0x184D2A5E
"""Of the skippable frames the one that is a seek table."""
_FOOT: Final = 9
_FOOT_MAGIC: Final = 0x8F92EAB1
_WITH_CHECKSUMS: Final = 0x80
_RESERVED: Final = 0x7C
_LONGEST_HEADER: Final = 18
_REPEATED, _RESERVED_KIND = 1, 3


def starts(read: Callable[[int, int], bytes], size: int) -> Iterator[int]:
    """Where each frame begins; skippable ones are left out.

    Raises:
        ValueError: What is there is no frame.
        struct.error: It is cut off.
    """
    if table := _seek_table(read, size):
        places = [0, *accumulate(length for length, _ in table)]
        yield from (at for at, (_, text) in zip(places, table, strict=False) if text)
        return
    at = 0
    while at < size:
        head = read(at, _LONGEST_HEADER)
        (magic,) = unpack("<I", head[:4])
        if magic == _FRAME:
            yield at
            at = _after_frame(read, at, head)
        elif magic & ~0xF == _SKIPPABLE:
            at += 8 + unpack("<I", head[4:8])[0]
        else:
            raise ValueError("no frame")


def held(read: Callable[[int, int], bytes], size: int) -> int | None:
    """How many bytes the file holds decompressed, if a seek table says so."""
    table = _seek_table(read, size)
    return sum(text for _, text in table) if table else None


def _seek_table(read: Callable[[int, int], bytes], size: int) -> list[tuple[int, int]]:
    """The bytes of each frame, and of what it holds; empty if no table tells of the whole file."""
    foot = read(size - _FOOT, _FOOT) if size > _FOOT else b""
    if len(foot) < _FOOT or unpack("<I", foot[5:])[0] != _FOOT_MAGIC:
        return []
    count, about = unpack("<IB", foot[:5])
    width = 12 if about & _WITH_CHECKSUMS else 8
    length = width * count + _FOOT
    if about & _RESERVED or length + 8 > size:
        return []
    data = read(size - length - 8, length - 1)
    if unpack("<II", data[:8]) != (_TABLE, length):
        return []
    entries = [unpack("<II", data[8 + i : 16 + i]) for i in range(0, width * count, width)]
    whole = sum(each for each, _ in entries) + length + 8 == size
    return entries if whole and all(_begins(read, entries)) else []


def _begins(read: Callable[[int, int], bytes], entries: list[tuple[int, int]]) -> Iterator[bool]:
    """Whether a frame begins at the places of a table, of which some are looked at."""
    places = [0, *accumulate(length for length, _ in entries[:-1])]
    for at in places[:: 1 + len(places) // 64]:
        magic = int.from_bytes(read(at, 4), "little")
        yield magic == _FRAME or magic & ~0xF == _SKIPPABLE


def _after_frame(read: Callable[[int, int], bytes], at: int, head: bytes) -> int:
    """Where the frame ends that begins at a place."""
    about = head[4]
    single = about >> 5 & 1
    text = (single, 2, 4, 8)[about >> 6]
    at += 5 + (1 - single) + (0, 1, 2, 4)[about & 3] + text
    is_last = 0
    while not is_last:
        (block,) = unpack("<I", read(at, 3) + b"\0")
        is_last, kind, length = block & 1, block >> 1 & 3, block >> 3
        if kind == _RESERVED_KIND:
            raise ValueError("no block")
        at += 3 + (1 if kind == _REPEATED else length)
    return at + 4 * (about >> 2 & 1)
