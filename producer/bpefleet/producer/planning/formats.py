"""Whether a file is plain UTF-8 text, or has a format that must not be read as text.

From JSON Lines read as text the tokenizer would learn quotes and escapes, and from compressed data
noise. Formats are told by their first bytes, as their specifications and the magic database of
`file` name them, by the file's name, and by what text looks like.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.plain import is_mostly_text

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMATS: Final = ("auto", "text")
"""How files may be read: by what they look like, or as plain text whatever their names say."""
JSON_LINES: Final = "JSON Lines"
BINARY: Final = "binary"

_HEAD: Final = 8192
_RECORDS: Final = 1 << 20
"""Bytes of a file that are looked at, and that two records of JSON Lines are looked for in."""

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
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_CONTROL: Final = re.compile(r"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_ASCII: Final = 0x80
_ENOUGH: Final = 16
"""Pairs of bytes that show a text to be UTF-16; in a shorter one a NUL may be a NUL."""
_ZSTD_SKIPPABLE: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ending: name
        for name, endings in {
            JSON_LINES: "jsonl jsonlines ndjson ldjson",
            "Parquet": "parquet pq",
            "Arrow": "arrow ipc",
            "Feather": "feather",
            "Avro": "avro",
            "ORC": "orc",
            "gzip": "gz gzip tgz",
            "zstd": "zst zstd tzst",
            "xz": "xz txz",
            "lzma": "lzma",
            "bzip2": "bz2 bzip2 tbz2",
            "lz4": "lz4",
            "snappy": "snappy sz",
            "brotli": "br",
            "zip": "zip",
            "7z": "7z",
            "rar": "rar",
            "tar": "tar",
            "PDF": "pdf",
            "SQLite": "sqlite sqlite3",
            "HDF5": "h5 hdf5",
            "NumPy": "npy npz",
            "pickle": "pkl pickle",
        }.items()
        for ending in endings.split()
    }
)
_TABLES: Final = frozenset({"Parquet", "Arrow", "Feather", "Avro", "ORC"})
_ARCHIVES: Final = frozenset({"zip", "7z", "rar", "tar"})
_COMPRESSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "gzip": "gzip -dk",
        "zstd": "zstd -dk",
        "xz": "xz -dk",
        "lzma": "xz -dk",
        "bzip2": "bzip2 -dk",
        "lz4": "lz4 -dk",
        "snappy": "",
        "brotli": "brotli -dk",
    }
)


def format_of(descriptor: int, path: str, *, picked: bool, insist: bool) -> str:
    """The name of the format that an open file seems to have; empty for plain text.

    Args:
        descriptor: The file.
        path: Its name, whose ending may tell the format.
        picked: Whether the user named this file, and not a folder that it is in. Such a file may
            hold a few NUL bytes, and is binary only if hardly anything in it is text. A file in a
            folder is binary if a NUL byte is among its first; if it is in another encoding,
            counting will tell.
        insist: Whether to take it for text whatever its name says, and though it looks like JSON
            Lines. What begins as no text does is never taken for text.

    Raises:
        OSError: It cannot be read.
    """
    head = os.pread(descriptor, _HEAD, 0)
    if name := _by_first_bytes(head) or _wide(head):
        return name
    if not insist and (name := _ENDINGS.get(PurePath(path).suffix[1:].lower(), "")):
        return name
    if not (insist or is_mostly_text(head)) if picked else b"\0" in head:
        return BINARY
    if not insist and head.lstrip(_BLANK).startswith(b"{"):
        return JSON_LINES if _has_records(os.pread(descriptor, _RECORDS, 0)) else ""
    return ""


def said_of(name: str) -> str:
    """A format in words that can follow `it is`."""
    if name in _COMPRESSED:
        return f"compressed with {name}"
    if name in _ARCHIVES:
        return f"a {name} archive"
    return {BINARY: "binary, or in another encoding"}.get(name, name)


def remedy(name: str, path: str) -> str:
    """What the user can do to get plain text from a file of that format."""
    path = shlex.quote(path)
    if tool := _COMPRESSED.get(name):
        return f"decompress it first: {tool} {path}"
    if name == JSON_LINES:
        return (
            "write the text of its records to a file, with a special token between; "
            "--format text counts it as it stands, quotes and escapes included"
        )
    if name in _TABLES:
        return "write the column that holds the text to a file, with a special token between rows"
    if name.startswith("UTF-"):
        return f"convert it first: iconv -f {name} -t UTF-8 {path} > NEW"
    if name == BINARY:
        return "convert text in another encoding first, with iconv"
    return "write its text to a file first"


def _by_first_bytes(head: bytes) -> str:
    found = [name for offset, magic, name in _FIRST_BYTES if head.startswith(magic, offset)]
    if _ZSTD_SKIPPABLE.match(head):
        found.append("zstd")
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


def _has_records(data: bytes) -> bool:
    """Whether the first two lines that are not empty are JSON objects."""
    lines = [line for line in data.split(b"\n") if line.strip(_BLANK)][:2]
    return len(lines) > 1 and all(map(_is_record, lines))


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False
