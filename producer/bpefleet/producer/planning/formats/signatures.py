"""What a file's first bytes say of its format.

As the formats' specifications and the magic database of `file` name them, and by what text looks
like.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

_FIRST_BYTES: Final = (
    (0, b"PAR1", "Parquet"),
    (0, b"PARE", "Parquet"),
    (0, b"ARROW1", "Arrow"),
    (0, b"FEA1", "Feather"),
    (0, b"Obj\x01", "Avro"),
    (0, b"ORC", "ORC"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"\x5d\0\0", "lzma"),
    (0, b"BZh", "bzip2"),
    (0, b"\x04\x22\x4d\x18", "lz4"),
    (0, b"\xff\x06\0\0sNaPpY", "snappy"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"PK\x05\x06", "zip"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (0, b"Rar!\x1a\x07", "rar"),
    (257, b"ustar", "tar"),
    (0, b"%PDF-", "PDF"),
    (0, b"SQLite format 3\0", "SQLite"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5"),
    (0, b"\x93NUMPY", "NumPy"),
    (0, b"\x80\x04\x95", "pickle"),
    (0, b"\x80\x05\x95", "pickle"),
    (0, b"\xff\xfe\0\0", "UTF-32"),
    (0, b"\0\0\xfe\xff", "UTF-32"),
    (0, b"\xff\xfe", "UTF-16"),
    (0, b"\xfe\xff", "UTF-16"),
)
_BEGINNINGS: Final = tuple(magic for offset, magic, _ in _FIRST_BYTES if not offset)
_FIRST: Final = frozenset(magic[:1] for magic in _BEGINNINGS) | {
    bytes([first]) for first in (*range(0x50, 0x60), 0xFF)
}
"""What a file begins with that may be something else than text."""
FIRST_OF_TEXT: Final = bytes(
    c for c in range(0x80) if chr(c).isalnum() and bytes([c]) not in _FIRST
)
"""What no format begins with: a file without NUL that begins so is no file of any."""
_TAR: Final = slice(257, 262)
_CONTROL: Final = re.compile(r"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_STREAM: Final = re.compile(rb"\xff{4}..\0\0", re.DOTALL)
"""Arrow's stream format: a mark, and the length of a schema."""
_ASCII: Final = 0x80
_ENOUGH: Final = 16
"""Pairs of bytes that show a text to be UTF-16; in a shorter one a NUL may be a NUL."""
_ZSTD_SKIPPABLE: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")


def by_first_bytes(head: bytes) -> str:
    """The format that the first bytes of a file show; empty for what may be text."""
    return _by_magic(head) or _wide(head)


def _by_magic(head: bytes) -> str:
    found = []
    if head[:1] not in _FIRST and head[_TAR] != b"ustar":
        return ""
    if head.startswith(_BEGINNINGS) or head[_TAR] == b"ustar":
        found = [name for offset, magic, name in _FIRST_BYTES if head.startswith(magic, offset)]
    elif _ZSTD_SKIPPABLE.match(head):
        found = ["zstd"]
    elif _STREAM.match(head):
        found = ["Arrow"]
    return found[0] if found and not _is_plain(head) else ""  # a text may begin with ORC, too


def _is_plain(head: bytes) -> bool:
    """Whether bytes, up to a character cut off at their end, are UTF-8 without NUL and the like."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text)


def _wide(head: bytes) -> str:
    """UTF-16 without a mark: ASCII characters with a NUL byte before or after each."""
    if b"\0" not in head:
        return ""
    pairs = len(head) // 2
    first, second = head[: 2 * pairs : 2], head[1 : 2 * pairs : 2]
    for name, letters, nuls in (("UTF-16LE", first, second), ("UTF-16BE", second, first)):
        if (
            pairs >= _ENOUGH
            and 2 * nuls.count(0) > pairs
            and _is_plain(bytes(b for b in letters if b < _ASCII))
        ):
            return name
    return ""
