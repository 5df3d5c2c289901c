"""The blocks of xz files, each of which can be decompressed by itself.

`xz` with several threads divides a file into blocks, and the index at the end of each stream says
where they are (The .xz File Format 1.2, chapters 2 and 4). What decompresses takes whole streams
only, so each block gets a stream of its own.
"""

from __future__ import annotations

from struct import pack, unpack
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[int, int], bytes]
    """Gives as many bytes of the file as are asked for from an offset on."""

_HEADER: Final = 12
_MAGIC: Final = b"\xfd7zXZ\0"
_FOOT_MAGIC: Final = b"YZ"
_PADDING: Final = bytes(4)
_PIECE: Final = 1 << 17


class Block(NamedTuple):
    """A block: where it begins, its bytes without padding, and those that it holds; its check."""

    start: int
    size: int
    text: int
    flags: bytes


def blocks(read: Read, size: int) -> list[Block]:
    """The blocks of a file, in order.

    Raises:
        ValueError: Its indexes make no sense.
        struct.error: They are cut off.
    """
    found: list[Block] = []
    end = size
    while end > 0:
        if read(end - 4, 4) == _PADDING:
            end -= 4
            continue
        end, stream = _stream(read, end)
        found[:0] = stream
    return found


def as_streams(read: Read, size: int, start: int, end: int) -> Iterator[bytes]:
    """The blocks that begin in a range of a file, each as a stream, in pieces.

    Raises:
        ValueError: As `blocks`.
    """
    for block in blocks(read, size):
        if start <= block.start < end:
            yield _MAGIC + block.flags + pack("<I", crc32(block.flags))
            last = block.start + _padded(block.size)
            for at in range(block.start, last, _PIECE):
                yield read(at, min(_PIECE, last - at))
            yield _index(block)


def _stream(read: Read, end: int) -> tuple[int, list[Block]]:
    """Where the stream begins that ends at a place, and its blocks."""
    foot = read(max(0, end - _HEADER), _HEADER)
    check, back, flags, magic = unpack("<II2s2s", foot)
    length = 4 * (back + 1)
    index_at = end - _HEADER - length
    if magic != _FOOT_MAGIC or check != crc32(foot[4:10]) or index_at < _HEADER:
        raise ValueError("no stream ends there")
    sizes = _records(read(index_at, length))
    begin = index_at - sum(_padded(size) for size, _ in sizes) - _HEADER
    if begin < 0 or read(begin, len(_MAGIC) + len(flags)) != _MAGIC + flags:
        raise ValueError("the index is of another stream")
    found, at = [], begin + _HEADER
    for size, text in sizes:
        found.append(Block(at, size, text, flags))
        at += _padded(size)
    return begin, found


def _records(index: bytes) -> list[tuple[int, int]]:
    """What an index says of each block: its bytes without padding, and those that it holds."""
    if len(index) < 8 or index[0] or unpack("<I", index[-4:])[0] != crc32(index[:-4]):  # noqa: PLR2004
        raise ValueError("the index is damaged")
    count, at = _number(index, 1)
    found = []
    for _ in range(count):
        size, at = _number(index, at)
        text, at = _number(index, at)
        found.append((size, text))
    return found


def _index(block: Block) -> bytes:
    """What ends a stream of one block: index and footer."""
    index = b"\0" + _written(1) + _written(block.size) + _written(block.text)
    index += bytes(-len(index) % 4)
    index += pack("<I", crc32(index))
    about = pack("<I", len(index) // 4 - 1) + block.flags
    return index + pack("<I", crc32(about)) + about + _FOOT_MAGIC


def _padded(size: int) -> int:
    return size + -size % 4


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    found = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  more follows
            return found, at
    raise ValueError("the index is damaged")


def _written(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:  # noqa: PLR2004
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*found, number))
