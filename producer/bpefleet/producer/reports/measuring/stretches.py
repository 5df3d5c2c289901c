"""The texts of a stretch of a file, whatever its format."""

from __future__ import annotations

import codecs
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import KernelError, json_texts
from bpefleet.producer.planning.formats.compressed.opening_bytes import inflated
from bpefleet.producer.planning.opening import opened_source
from bpefleet.producer.planning.unchanged import changed_file
from bpefleet.shared.corpus.formats import JSON_LINES, TABLES, compression_of, kind_of
from bpefleet.shared.corpus.tables.rows import table_rows
from bpefleet.shared.errors import SourceChangedError, SourceError
from bpefleet.shared.wire.messages import Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.shared.corpus.files import File

REMEDY: Final = "name other text to measure on: --held-out FILE"
_SPACES: Final = b" \n"
_LONGEST_LINE: Final = 1 << 20
"""Bytes read for one line more; a longer one is left out."""


def texts_of(file: SourceFile, start: int, end: int, field: Sequence[str]) -> list[str]:
    """The texts of a stretch of a file.

    Of a compressed file it is as long a stretch from its beginning: the rest would have to be read
    up to there.

    Args:
        file: Which.
        start: Where it begins, in bytes of text, as the file is expected to hold them.
        end: Likewise, where it ends.
        field: The keys that lead to a record's text.

    Raises:
        SourceError: The file cannot be read.
        SourceChangedError: It is not what it was when the run was planned.
    """
    try:
        if changed_file([file]):
            raise SourceChangedError(
                f"{file.path} has changed since the run was planned", hint=REMEDY
            )
        with opened_source(file.path, file.version, file.size) as source:
            return list(_read(source, file, start, end, field))
    except (OSError, KernelError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"{file.path}: {said}", hint=REMEDY) from error


def _read(
    source: File, file: SourceFile, start: int, end: int, field: Sequence[str]
) -> Iterator[str]:
    first, last = file.place_of(start), file.place_of(end)
    if file.format in TABLES:
        first = min(first, file.rows - 1)
        rows = Segment(file.path, first, max(last, first + 1), file.format)
        for some in table_rows(source, rows, field):
            yield from _documents(some.data, some.offsets, some.offset_bytes)
        return
    is_records = kind_of(file.format) == JSON_LINES
    if compression := compression_of(file.format):
        length = end - start + (_LONGEST_LINE if is_records else 0)
        data, first = inflated(source, compression, file.path, length), 0
        last = len(data) if len(data) < length else file.size + 1
    else:
        more = _LONGEST_LINE if is_records else 0
        data = source.pread(last - first + more, first)
    if is_records:
        yield from _records(data, first, end - start, field)
    else:
        yield _decoded(data if last == file.size else _without_half_word(data), begins=not first)


def _records(data: bytes, first: int, length: int, field: Sequence[str]) -> Iterator[str]:
    """The texts of the lines that begin in a stretch; of the first, if the file does."""
    begin = data.find(b"\n") + 1 if first else 0
    end = data.rfind(b"\n", begin) + 1 or len(data)
    nearest = data.find(b"\n", max(begin, length - 1), end) + 1
    found = json_texts(data[begin : nearest or end], field)
    yield from _documents(found.data, found.offsets, 8)


def _documents(data: object, offsets: object, width: int) -> Iterator[str]:
    at = memoryview(offsets).cast("B").cast("i" if width == 4 else "q")  # type: ignore[arg-type]  # noqa: PLR2004
    text = memoryview(data)  # type: ignore[arg-type]
    for start, end in pairwise(chain(at)):
        yield str(text[start:end], "utf-8", "replace")


def _decoded(data: bytes, *, begins: bool) -> str:
    """A stretch as text, from its first space on if it begins within a file."""
    if not begins:
        at = min((found for space in _SPACES if (found := data.find(space)) >= 0), default=0)
        # Without any space, as in Chinese: from the first whole character on.
        while at < len(data) and data[at] & 0xC0 == 0x80:  # noqa: PLR2004
            at += 1
        data = data[at:]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(data, final=False)  # half a character at the end is left out


def _without_half_word(data: bytes) -> bytes:
    end = max(data.rfind(space) for space in _SPACES)
    return data[:end] if end > 0 else data
