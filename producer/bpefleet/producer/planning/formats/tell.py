"""Which format a file has: by its first bytes, by its name, and by what text looks like.

From JSON Lines read as text the tokenizer would learn quotes and escapes, and from compressed data
noise. So what is not read is refused, and what is named as one thing and is another as well.
"""

from __future__ import annotations

import json
from functools import partial
from os.path import splitext
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.plain import is_mostly_text
from bpefleet.producer.planning.formats.compressed.opening_bytes import inflated
from bpefleet.producer.planning.formats.names import (
    AUTO,
    BINARY,
    ENDINGS,
    NAMES,
    named,
    not_as,
    within,
)
from bpefleet.producer.planning.formats.signatures import by_first_bytes
from bpefleet.shared.corpus.formats import (
    COMPRESSIONS,
    COUNTS,
    COUNTS_TABLE,
    JSON_LINES,
    PARQUET,
    TABLES,
    TEXT,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.shared.corpus.files import File

HEAD: Final = 8192
"""Bytes of a file that are looked at first."""
_RECORDS: Final = 1 << 20
"""Bytes of a file that two records of JSON Lines are looked for in."""
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"


def begins_as_text(head: bytes) -> bool:
    """Whether nothing tells a file from plain text that no ending tells from it.

    Args:
        head: Its first `HEAD` bytes, or all that there are; no NUL is among them.
    """
    return not by_first_bytes(head) and head.lstrip(_BLANK)[:1] != b"{"


def format_of(file: File, path: str, *, picked: bool, asked: str = AUTO) -> str:
    """The format of an open file.

    Args:
        file: The file.
        path: Its name, whose ending may tell the format.
        picked: Whether the user named this file, and not a folder that it is in. Such a file may
            hold a few NUL bytes, and is binary only if hardly anything in it is text. A file in a
            folder is binary if a NUL byte is among its first; if it is in another encoding,
            counting will tell.
        asked: The kind that it is to be read as, or `auto`. What begins as no text does is never
            taken for text.

    Returns:
        One of `bpefleet.shared.corpus.formats.FORMATS`, or what it is instead: see `names.said_of`.

    Raises:
        OSError: It cannot be read.
        SourceError: It is compressed, and the data are damaged.
    """
    head = file.pread(HEAD, 0)
    found = by_first_bytes(head)
    if asked == COUNTS:
        return _counts(found)
    stem, ending = splitext(path)  # noqa: PTH122  a Path for each file takes its time
    if found in COMPRESSIONS:
        if ENDINGS.get(_bare(ending)) in COMPRESSIONS:
            ending = splitext(stem)[1]  # noqa: PTH122
        data = partial(inflated, file, found, path)
        return _inside(data, found, _bare(ending), picked, asked)
    if found:
        kind = next((kind for kind in TABLES if found == NAMES[kind]), "")
        return kind if kind and asked in (AUTO, kind) else found
    ending = _bare(ending)
    return _kind(head, partial(file.pread, _RECORDS, 0), ending, picked, asked)


def _counts(found: str) -> str:
    """The format of a table of counts, by what its first bytes show."""
    if found in COMPRESSIONS:
        return f"{COUNTS}+{found}"
    return {"": COUNTS, NAMES[PARQUET]: COUNTS_TABLE}.get(found, found)


def _bare(ending: str) -> str:
    return ending[1:].lower()


def _inside(
    data: Callable[[int], bytes],
    compression: str,
    ending: str,
    picked: bool,  # noqa: FBT001  handed on
    asked: str,
) -> str:
    """The format of a compressed file."""
    head = data(HEAD)
    found = by_first_bytes(head) or _kind(head, partial(data, _RECORDS), ending, picked, asked)
    if found in (TEXT, JSON_LINES):
        return f"{found}+{compression}"
    return found if found == BINARY else within(found, compression)


def _kind(
    head: bytes,
    more: Callable[[], bytes],
    ending: str,
    picked: bool,  # noqa: FBT001  handed on
    asked: str,
) -> str:
    """The kind of what no first bytes tell."""
    if asked in TABLES:
        return not_as(asked)
    lines = NAMES[JSON_LINES]
    name = ENDINGS.get(ending, "") if asked == AUTO else ""
    if name and name != lines:
        return named(ending)
    insisted = asked == TEXT
    if not (insisted or is_mostly_text(head)) if picked else b"\0" in head:
        return BINARY
    begin = head.lstrip(_BLANK)[:1]
    if asked == JSON_LINES or name == lines:
        return JSON_LINES if begin in (b"{", b"") else not_as(JSON_LINES)
    return JSON_LINES if not insisted and begin == b"{" and _has_records(more()) else TEXT


def _has_records(data: bytes) -> bool:
    """Whether the first two lines that are not empty are JSON objects."""
    lines = [line for line in data.split(b"\n") if line.strip(_BLANK)][:2]
    return len(lines) > 1 and all(map(_is_record, lines))


def _is_record(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False
