"""Reading tables of pre-tokens and their counts, as `bpefleet counts` and others write them."""

from __future__ import annotations

from itertools import starmap
from operator import mul
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.corpus.tables.columns import holds_text
from bpefleet.shared.corpus.tables.rows import parquet_rows
from bpefleet.shared.errors import DamagedSourceError
from bpefleet.shared.pretokens.bytelevel import SPELLING, unspell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.shared.corpus.files import File
    from bpefleet.shared.wire.messages import Segment

    Pairs = list[tuple[bytes, int]]

PRETOKEN: Final = "pretoken"
COUNT: Final = "count"
MOST_TEXT: Final = 1 << 50
"""Bytes of text that the counts of a chunk may come to. No chunk has so many, and sums of such
numbers fit 64 bits.
"""
_ROWS: Final = 1 << 16
_DIGITS: Final = 20
"""No number of 64 bits has more."""
_HINT: Final = "mend the table, and start a new run"


def counted_lines(
    blocks: Iterable[tuple[int, bytes]], line: Callable[[int], int], path: str
) -> Iterator[tuple[int, Pairs]]:
    """The pairs of lines, in blocks, each with the bytes of text that they stand for.

    A line is a pre-token in the characters of GPT-2's files, a tab, its count. Blank ones are
    skipped.

    Args:
        blocks: Whole lines with their offsets.
        line: The number of the line at such an offset.
        path: The file's name, for errors.

    Raises:
        DamagedSourceError: A line is something else.
    """
    left = MOST_TEXT
    for offset, block in blocks:
        at, pairs, before = offset, [], left
        for each in block.split(b"\n"):
            if each:
                try:
                    pair = _pair(each)
                    left = _less(left, len(pair[0]) * pair[1])
                except ValueError as error:
                    raise DamagedSourceError(
                        f"line {line(at)} of {path} {error}", hint=_HINT
                    ) from None
                pairs.append(pair)
            at += len(each) + 1
        yield before - left, pairs


def _pair(line: bytes) -> tuple[bytes, int]:
    """What a line says.

    Raises:
        ValueError: It does not; the text goes on after "the line".
    """
    try:
        spelled, tab, count = line.decode().rpartition("\t")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    if not tab or not spelled:
        raise ValueError("is no pre-token, a tab and its count")
    if not (count.isascii() and count.isdecimal() and len(count) <= _DIGITS) or not int(count):
        raise ValueError(f"has {count[:40]!r} for a count, which is no whole number from 1 on")
    if not SPELLING.issuperset(spelled):
        odd = next(character for character in spelled if character not in SPELLING)
        raise ValueError(f"has {odd!r} in a pre-token, which GPT-2's spelling of bytes has not")
    return unspell(spelled), int(count)


def counted_rows(file: File, segment: Segment) -> Iterator[tuple[int, Pairs]]:
    """The same of a Parquet file's rows, which have the columns `pretoken` and `count`.

    Raises:
        DamagedSourceError: They have not, or a row makes no sense; or the file is damaged.
        SourceChangedError: It has fewer rows.
    """
    left = MOST_TEXT
    for first, batch in parquet_rows(file, segment, (PRETOKEN, COUNT), _ROWS, demand_columns):
        names = batch.schema.names
        columns = [batch.column(names.index(name)) for name in (PRETOKEN, COUNT)]
        pretokens, counts = (column.to_pylist() for column in columns)
        if not all(pretokens) or not all(counts) or min(counts, default=1) < 0:
            rows = enumerate(zip(pretokens, counts, strict=True))
            row, (_, count) = next(
                (row, pair) for row, pair in rows if not pair[0] or not pair[1] or pair[1] < 0
            )
            wrong = "no pre-token" if count and count > 0 else f"{count} for a count, not 1 or more"
            raise DamagedSourceError(f"row {first + row} of {segment.path} has {wrong}", hint=_HINT)
        if pretokens and isinstance(pretokens[0], str):
            pretokens = [each.encode() for each in pretokens]
        pairs = list(zip(pretokens, counts, strict=True))
        size = sum(starmap(mul, zip(map(len, pretokens), counts, strict=True)))
        try:
            left = _less(left, size)
        except ValueError as error:
            raise DamagedSourceError(
                f"row {first} of {segment.path}, or one of the next, {error}"
            ) from None
        yield size, pairs


def demand_columns(schema: Any, path: str) -> None:
    """Make sure that a table has a column of pre-tokens and one of whole numbers.

    Raises:
        DamagedSourceError: It has not.
    """
    import pyarrow as pa  # noqa: PLC0415  an extra, and slow to import

    types = {field.name: field.type for field in schema}
    for name, fits, what in (
        (PRETOKEN, holds_text, "bytes or text"),
        (COUNT, pa.types.is_integer, "whole numbers"),
    ):
        if name not in types or not fits(types[name]):
            said = f"holds {types[name]}" if name in types else "is missing"
            raise DamagedSourceError(
                f"{path}: the column {name} of {what} {said}; its columns: {', '.join(types)}",
                hint="a table of counts has the columns pretoken and count",
            )


def _less(left: int, size: int) -> int:
    """What is left of the text that a table may stand for.

    Raises:
        ValueError: Nothing is; the text goes on after the name of a line.
    """
    if size > left:
        raise ValueError(
            f"brings the text that is counted to more than {MOST_TEXT:,} bytes, which no corpus has"
        )
    return left - size
