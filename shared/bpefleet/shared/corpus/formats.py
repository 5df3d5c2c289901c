"""The formats that are read, by the names that plans and jobs have for them.

A format is a kind, and for some kinds a compression: `text`, `jsonl`, `jsonl+zstd`, `parquet`.
"""

from __future__ import annotations

from typing import Final

TEXT: Final = "text"
"""Plain UTF-8: one text, in which special tokens end a piece."""
JSON_LINES: Final = "jsonl"
"""A JSON object a line; each is a document."""
PARQUET: Final = "parquet"
ARROW: Final = "arrow"
"""Arrow's file and stream formats, of which Feather is one. As in Parquet, a row is a document."""

TABLES: Final = (PARQUET, ARROW)
"""Kinds with a column of texts; they have compressions of their own."""
COUNTS: Final = "counts"
"""Lines of pre-tokens and their counts."""
COUNTS_TABLE: Final = "counts-parquet"
"""A Parquet file of them."""
ROWS: Final = (*TABLES, COUNTS_TABLE)
"""Kinds whose parts are counted in rows, not in bytes."""
COMPRESSIONS: Final = ("gzip", "zstd", "xz", "bzip2")


def kind_of(name: str) -> str:
    """The kind of a format: `jsonl` of `jsonl+zstd`."""
    return name.partition("+")[0]


def compression_of(name: str) -> str:
    """The compression of a format, empty for none: `zstd` of `jsonl+zstd`."""
    return name.partition("+")[2]


FORMATS: Final = (
    TEXT,
    *(f"{TEXT}+{each}" for each in COMPRESSIONS),
    JSON_LINES,
    *(f"{JSON_LINES}+{each}" for each in COMPRESSIONS),
    *TABLES,
)
"""Every format of texts."""
KNOWN: Final = (*FORMATS, COUNTS, *(f"{COUNTS}+{each}" for each in COMPRESSIONS), COUNTS_TABLE)
"""Every format that is read."""
