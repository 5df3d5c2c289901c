"""What formats are called, by which endings files show them, and what to do about the others."""

from __future__ import annotations

import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bpefleet.shared.corpus.formats import (
    ARROW,
    COMPRESSIONS,
    COUNTS,
    JSON_LINES,
    PARQUET,
    TABLES,
    TEXT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO: Final = "auto"
ASKED: Final = (AUTO, TEXT, JSON_LINES, *TABLES, COUNTS)
"""How files may be read: by what they are, or each as one kind. Compressions are always told."""
BINARY: Final = "binary"
NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        TEXT: "plain text",
        JSON_LINES: "JSON Lines",
        PARQUET: "Parquet",
        ARROW: "Arrow",
        COUNTS: "a table of counts",
    }
)
"""Kinds that are read, and what they are called in words and in `ENDINGS`."""
ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ending: name
        for name, endings in {
            NAMES[JSON_LINES]: "jsonl jsonlines ndjson ldjson",
            NAMES[PARQUET]: "parquet pq",
            NAMES[ARROW]: "arrow ipc feather",
            "Avro": "avro",
            "ORC": "orc",
            "gzip": "gz gzip",
            "zstd": "zst zstd",
            "xz": "xz",
            "lzma": "lzma",
            "bzip2": "bz2 bzip2",
            "lz4": "lz4",
            "snappy": "snappy sz",
            "brotli": "br",
            "zip": "zip",
            "7z": "7z",
            "rar": "rar",
            "tar": "tar tgz txz tzst tbz2",
            "PDF": "pdf",
            "SQLite": "sqlite sqlite3",
            "HDF5": "h5 hdf5",
            "NumPy": "npy npz",
            "pickle": "pkl pickle",
        }.items()
        for ending in endings.split()
    }
)
"""By the ending of a file's name, the format."""
_NO: Final = "no "
_IN: Final = " in "
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

_REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        BINARY: "convert text in another encoding first, with iconv",
        **dict.fromkeys(("Feather", "Avro", "ORC"), "write it as Parquet"),
    }
)


def named(ending: str) -> str:
    """The format that a name's ending shows; what is not read, if the file does not have it."""
    name = ENDINGS.get(ending, "")
    return _NO + name if name in COMPRESSIONS or name in NAMES.values() else name


def not_as(kind: str) -> str:
    """What a file is whose name or user says that it is of a kind, and which is not."""
    return _NO + NAMES[kind]


def within(name: str, compression: str) -> str:
    """What a compressed file is that holds something that is not read."""
    return name + _IN + compression


def said_of(name: str) -> str:
    """A format that is not read in words that can follow `it is`."""
    inner, _, compression = name.partition(_IN)
    if compression:
        return f"{said_of(inner)} compressed with {compression}"
    if name.startswith(_NO):
        return f"{name} file by its first bytes"
    if name in _COMPRESSED:
        return f"compressed with {name}"
    if name in _ARCHIVES:
        return f"a {name} archive"
    if name == "Feather":
        return "Feather of version 1"
    return {BINARY: "binary, or in another encoding"}.get(name, name)


def why_not(name: str, asked: str) -> str:
    """The same, with what follows from it.

    Args:
        name: The format.
        asked: What the file was to be read as.
    """
    if name.startswith(_NO):
        return said_of(name)
    return f"{said_of(name)}, which is not read" + (f" as {NAMES[asked]}" if asked != AUTO else "")


def remedy(name: str, path: str, asked: str = AUTO) -> str:
    """What the user can do about a file of that format, which was to be read as `asked`."""
    inner, _, compression = name.partition(_IN)
    path = shlex.quote(path)
    if asked in (TEXT, JSON_LINES, *TABLES) and (name.startswith(_NO) or name in NAMES.values()):
        return "leave out --format: then each file is read as what it is"
    if name.startswith(_NO):
        return "give it the ending of what it is, or say what it is with --format"
    if inner in _ARCHIVES:
        return "unpack it first"
    if tool := _COMPRESSED.get(compression or name):
        return f"decompress it first: {tool} {path}"
    if name.startswith("UTF-"):
        return f"convert it first: iconv -f {name} -t UTF-8 {path} > NEW"
    return _REMEDIES.get(name, "write its text to a file first")
