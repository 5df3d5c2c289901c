"""The compressions that are read, as their libraries write them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import sys
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@lru_cache(maxsize=8)
def compress(data: bytes, compression: str) -> bytes:
    """The data as one stream; without a compression, as they are."""
    return COMPRESS[compression](data) if compression else data


def compress_frames(parts: Sequence[bytes], compression: str) -> bytes:
    """The parts one after the other, each in a frame.

    Members of gzip have their size, as bgzip writes it; of xz half are blocks of one stream.
    """
    if compression == "xz":
        half = len(parts) // 2
        streams = [compress(part, "xz") for part in parts[half:]]
        return b"".join((_in_blocks(parts[:half]), *streams))
    frames = [compress(part, compression) for part in parts]
    if compression == "gzip":
        frames = [_with_size(frame) for frame in frames]
    return b"".join(frames)


def with_seek_table(parts: Sequence[bytes], checksums: bytes = b"") -> bytes:
    """Frames of zstd with a table at the end; `checksums` are four bytes for each."""
    frames = [compress(part, "zstd") for part in parts]
    entries = b"".join(
        struct.pack("<II", len(frame), len(part)) + checksums
        for frame, part in zip(frames, parts, strict=True)
    )
    foot = struct.pack("<IBI", len(frames), 0x80 if checksums else 0, 0x8F92EAB1)
    table = struct.pack("<II", 0x184D2A5E, len(entries) + len(foot)) + entries + foot
    return b"".join(frames) + table


def _in_blocks(parts: Sequence[bytes]) -> bytes:
    """A stream of xz with a block for each part that is not empty, as `xz -T` writes it."""
    head, blocks, records = lzma.compress(b"")[:12], [], b""
    for part in filter(None, parts):
        stream = compress(part, "xz")
        index_at = len(stream) - 12 - 4 * (struct.unpack("<I", stream[-8:-4])[0] + 1)
        blocks.append(stream[12:index_at])
        fields = stream[index_at + 2 : -16]  # a padded record
        length = next(n for n in range(2, 20) if _numbers(fields[:n]) == 2)
        records += fields[:length]
    index = b"\0" + bytes([len(blocks)]) + records
    index += bytes(-len(index) % 4)
    index += struct.pack("<I", zlib.crc32(index))
    about = struct.pack("<I", len(index) // 4 - 1) + head[6:8]
    foot = struct.pack("<I", zlib.crc32(about)) + about + b"YZ"
    return b"".join((head, *blocks, index, foot))


def _numbers(data: bytes) -> int:
    """How many numbers of variable length end in some bytes."""
    return sum(byte < 0x80 for byte in data)


def _with_size(member: bytes) -> bytes:
    field = struct.pack("<2sHH", b"BC", 2, len(member) + 8 - 1)
    head = member[:3] + bytes([member[3] | 4]) + member[4:10]
    return head + struct.pack("<H", len(field)) + field + member[10:]
