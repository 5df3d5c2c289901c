"""The first bytes of a compressed file, decompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.shared.corpus.compressed.decompress import decompressed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.shared.corpus.files import File

_PIECE: Final = 1 << 14
"""Bytes read at once: as few as let the ratio be told."""


def inflated(file: File, compression: str, path: str, length: int) -> bytes:
    """The first bytes that a compressed file holds; at most `length`.

    Raises:
        SourceError: The data are damaged, or end too early.
    """
    return inflated_from(file, compression, path, length)[0][:length]


def inflated_from(file: File, compression: str, path: str, length: int) -> tuple[bytes, int]:
    """The first bytes that a compressed file holds, and how many of its own they took.

    Args:
        file: The open file.
        compression: One of `bpefleet.shared.corpus.formats.COMPRESSIONS`.
        path: Its name, for errors.
        length: Bytes wanted; what comes with the last of them is given, too.

    Raises:
        SourceError: The data are damaged, or end too early.
    """
    fed = 0

    def pieces() -> Iterator[bytes]:
        nonlocal fed
        while piece := file.pread(_PIECE, fed):
            fed += len(piece)
            yield piece

    found = bytearray()
    for part in decompressed(pieces(), compression, path):
        found += part
        if len(found) >= length:
            break
    return bytes(found), fed
