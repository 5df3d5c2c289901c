"""Where the record batches of an Arrow file or stream end, from their metadata alone.

pyarrow tells how many rows a batch has only once it has read and decompressed it. The layout is
that of Arrow's specification: messages one after the other, each the mark `FF FF FF FF`, the length
of its metadata, a FlatBuffer, and a body whose length the metadata says.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.shared.corpus.files import File

_FILE: Final = b"ARROW1"
_FILE_BEGINS: Final = 8
"""Bytes before the first message of a file; a stream has none."""
_MARK: Final = b"\xff\xff\xff\xff"
_MOST: Final = 1 << 28
"""Bytes of a message's metadata: those of a table with a million columns."""
_RECORD_BATCH: Final = 3
"""Among the kinds of a message's header."""


def record_batches(file: File) -> Iterator[tuple[int, int]]:
    """Of each record batch of an open file its rows, and its bytes as it is stored.

    Raises:
        ValueError: The file is damaged, or ends early.
    """
    at = _FILE_BEGINS if file.pread(len(_FILE), 0) == _FILE else 0
    size = file.size
    while len(prefix := file.pread(8, at)) == 8:  # noqa: PLR2004  mark and length
        (length,) = struct.unpack("<i", prefix[4:])
        if prefix[:4] != _MARK or not 0 <= length <= _MOST:
            raise ValueError(f"no message of Arrow at byte {at:,}")
        if length == 0:
            return
        metadata = file.pread(length, at + 8)
        try:
            kind, rows, body = _message(metadata)
        except struct.error as error:
            raise ValueError(f"a broken message of Arrow at byte {at:,}") from error
        at += 8 + length + body
        if body < 0 or rows < 0 or at > size:
            raise ValueError(f"it ends at byte {size:,}, before its messages do")
        if kind == _RECORD_BATCH:
            yield rows, body


def _message(data: bytes) -> tuple[int, int, int]:
    """What a message is, its rows if it is a record batch, and the bytes of its body."""
    (root,) = struct.unpack_from("<I", data)
    kind = _field(data, root, 1, "<B")
    body = _field(data, root, 3, "<q")
    rows = 0
    if kind == _RECORD_BATCH:
        place = root + _offset(data, root, 2)
        (header,) = struct.unpack_from("<I", data, place)
        rows = _field(data, place + header, 0, "<q")
    return kind, rows, body


def _field(data: bytes, table: int, field: int, kind: str) -> int:
    """A number of a FlatBuffer's table; 0 if it is left out."""
    offset = _offset(data, table, field)
    return int(struct.unpack_from(kind, data, table + offset)[0]) if offset else 0


def _offset(data: bytes, table: int, field: int) -> int:
    """Where in a table a field lies; 0 if it is left out."""
    (back,) = struct.unpack_from("<i", data, table)
    fields = table - back
    (length,) = struct.unpack_from("<H", data, fields)
    place = 4 + 2 * field
    return int(struct.unpack_from("<H", data, fields + place)[0]) if place < length else 0
