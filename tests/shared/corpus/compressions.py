"""The compressions that are read, as their libraries write them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import sys
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
    """The parts one after the other, each in a frame; of gzip with its size, as bgzip writes it."""
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


def _with_size(member: bytes) -> bytes:
    field = struct.pack("<2sHH", b"BC", 2, len(member) + 8 - 1)
    head = member[:3] + bytes([member[3] | 4]) + member[4:10]
    return head + struct.pack("<H", len(field)) + field + member[10:]
