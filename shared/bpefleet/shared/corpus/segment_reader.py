"""Reading the segments of all formats but plain text, which the kernel reads itself."""

from __future__ import annotations

from functools import partial
from itertools import chain
from struct import error as StructError  # noqa: N812  a class
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bpefleet.shared.corpus.compressed.decompress import decompressed
from bpefleet.shared.corpus.compressed.owned import LINES, Owned
from bpefleet.shared.corpus.compressed.xz_blocks import as_streams
from bpefleet.shared.corpus.formats import COUNTS_TABLE, JSON_LINES, compression_of, kind_of
from bpefleet.shared.corpus.remote_segments import RemoteSegments
from bpefleet.shared.corpus.spooled import called, lines_before
from bpefleet.shared.corpus.tables.counted import counted_lines, counted_rows
from bpefleet.shared.corpus.tables.rows import table_fields, table_rows
from bpefleet.shared.errors import DamagedSourceError, SourceChangedError
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from bpefleet.shared.corpus.compressed.owned import Finder
    from bpefleet.shared.corpus.files import File, Piece
    from bpefleet.shared.corpus.tables.columns import RowSampler, Texts
    from bpefleet.shared.corpus.tables.counted import Pairs
    from bpefleet.shared.wire.messages import Segment

_LONGEST_LINE: Final = 1 << 30
"""Bytes of a line: longer ones are no records, but a file of some other form."""
_PART: Final = 1 << 17
"""Bytes that are decompressed at once: what comes of them stays in a cache, and of what a short
frame leaves over a copy is made.
"""
_NEAR: Final = 1 << 16
"""Bytes in which the last newline is looked for first, for lines are seldom longer."""
_BOM: Final = b"\xef\xbb\xbf"


class SegmentReader:
    """Reads the records of a corpus; what the kernel asks for as `bpefleet.kernel.records.Reader`.

    Attributes:
        field: The keys that lead to a record's text.
    """

    def __init__(self, text_field: str, remote: RemoteSegments | None = None) -> None:
        """Read the field of this name, dotted where it is nested; `remote` opens what is so."""
        self.field = tuple(text_field.split("."))
        self._remote = remote or RemoteSegments(())

    def is_remote(self, path: str) -> bool:
        """Whether a file lies in a store, and not on a path of this machine."""
        return is_url(path)

    def name(self, segment: Segment) -> str:
        """What a file of lines is called where a line of it is told."""
        return called(segment.path)

    def opened(self, segment: Segment) -> AbstractContextManager[File]:
        """The file of such a segment.

        Raises:
            ForbiddenPathError: It lies outside the roots.
            SourceError: Its store cannot be used.
        """
        return self._remote.opened(segment)

    def text(self, segment: Segment, file: File, finder: Finder) -> Iterator[Piece]:
        """The text of a segment, decompressed, in pieces.

        Args:
            segment: Which.
            file: Its file.
            finder: Finds the places where the text may be cut, if the segment is but a part.
        """
        return self._owned(segment, file, finder)[1]

    def byte(self, segment: Segment, file: File, offset: int, finder: Finder) -> int:
        """The place in what its file holds, decompressed, of an offset in what `text` gave.

        All that is before it is read for that.
        """
        owned, pieces = self._owned(segment, file, finder)
        next(pieces, None)
        return sum(map(len, _before(segment, file))) + owned.begin + offset

    def lines(self, segment: Segment, file: File) -> Iterator[tuple[int, bytes]]:
        """The lines of a segment in blocks, each with its offset in the (decompressed) segment.

        Raises:
            DamagedSourceError: A line is longer than any record.
        """
        at = 0
        owned, pieces = self._owned(segment, file, LINES)
        for block in _whole_lines(pieces):
            at = at or owned.begin
            if len(block) > _LONGEST_LINE:
                raise DamagedSourceError(
                    f"{called(segment.path)} has a line of more than {_LONGEST_LINE:,} bytes: line "
                    f"{self.line(segment, file, at)}",
                    hint="JSON Lines is an object a line: jq -c '.[]' makes it of an array",
                )
            skip = len(_BOM) if at + segment.start == 0 and block.startswith(_BOM) else 0
            yield at + skip, block[skip:] if skip else block
            at += len(block)

    def line(self, segment: Segment, file: File, offset: int) -> int:
        """The number in its file, or in the input, from 1, of the line at an offset from `lines`.

        All that is before it is read for that.
        """
        before = sum(bytes(piece).count(b"\n") for piece in _before(segment, file))
        for piece in chain(_own(segment, file), _beyond(segment, file)):
            before += bytes(piece).count(b"\n", 0, offset)
            offset -= len(piece)
            if offset <= 0:
                break
        return before + lines_before(segment.path) + 1

    def _owned(self, segment: Segment, file: File, finder: Finder) -> tuple[Owned, Iterator[Piece]]:
        """What a segment owns of the text, and the pieces of that."""
        owned = Owned(_own(segment, file), _beyond(segment, file), finder)
        part = bool(compression_of(segment.format))
        first, last = not (part and segment.start), not segment.until
        return owned, owned.pieces(first=first, last=last)

    def rows(
        self, segment: Segment, file: File, sampler: RowSampler | None = None
    ) -> Iterator[Texts]:
        """The texts of a table's rows, or of those that a sampler takes."""
        return table_rows(file, segment, self.field, sampler)

    def counts(self, segment: Segment, file: File) -> Iterator[tuple[int, Pairs]]:
        """Pre-tokens and their counts, some at a time, and the bytes of text they stand for."""
        if segment.format == COUNTS_TABLE:
            return counted_rows(file, segment)
        line = partial(self.line, segment, file)
        return counted_lines(self.lines(segment, file), line, segment.path)

    def fields(self, segment: Segment, file: File) -> list[str]:
        """The fields that a file's first record has; of a table, the columns with text."""
        if kind_of(segment.format) != JSON_LINES:
            return table_fields(file, segment)
        for _, block in self.lines(segment, file):
            for line in block.split(b"\n"):
                if line.strip():
                    return list(_text_fields(msgspec.json.decode(line, type=dict[str, Any]), ""))
        return []


def _text_fields(record: dict[str, Any], above: str) -> Iterator[str]:
    for key, value in record.items():
        if isinstance(value, str):
            yield above + key
        elif isinstance(value, dict):
            yield from _text_fields(value, f"{above}{key}.")


def _before(segment: Segment, file: File) -> Iterator[Piece]:
    """What the file holds before a segment."""
    return _held(segment, file, 0, segment.start)


def _own(segment: Segment, file: File) -> Iterator[Piece]:
    """What the bytes of a segment hold."""
    return _held(segment, file, segment.start, segment.end)


def _beyond(segment: Segment, file: File) -> Iterator[Piece]:
    """What the file holds behind a segment that reads on."""
    return _held(segment, file, segment.end, segment.until)


def _held(segment: Segment, file: File, start: int, end: int) -> Iterator[Piece]:
    """What some bytes of a file hold, decompressed."""
    compression = compression_of(segment.format)
    if compression == "xz" and start < end and (start or end < file.size):
        return decompressed(_xz_parts(segment.path, file, start, end), "xz", segment.path, start)
    pieces = _pieces(segment.path, file, start, end)
    if not compression:
        return pieces
    parts = (
        bytes(piece[at : at + _PART]) for piece in pieces for at in range(0, len(piece), _PART)
    )
    return decompressed(parts, compression, segment.path, start)


def _xz_parts(path: str, file: File, start: int, end: int) -> Iterator[bytes]:
    """The blocks of an xz file that begin in a range, each as a stream.

    Raises:
        DamagedSourceError: The file's index is damaged, or gone.
    """
    try:
        yield from as_streams(lambda at, size: file.pread(size, at), file.size, start, end)
    except (ValueError, StructError) as error:
        raise DamagedSourceError(
            f"{path} is damaged: its index makes no sense ({error})",
            hint="copy the file again, or make it again",
        ) from error


def _pieces(path: str, file: File, start: int, end: int) -> Iterator[Piece]:
    """The bytes of a file from `start` to `end`.

    Raises:
        SourceChangedError: The file is shorter.
    """
    for piece in file.pieces(start, end):
        yield piece
        start += len(piece)
    if start < end:
        raise SourceChangedError(
            f"{path} ends at byte {start}, before {end}",
            hint="the file changed since the run was planned; start a new run",
        )


def _whole_lines(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The same bytes in blocks that end with a newline; the last need not."""
    # Views, so that a byte is copied once: when its block is joined.
    rest: list[memoryview] = []
    held = 0
    for piece in pieces:
        view = memoryview(piece)
        if not (cut := _behind_newline(view)) and held <= _LONGEST_LINE:
            rest.append(view)
            held += len(view)
            continue
        cut = cut or len(view)
        yield b"".join((*rest, view[:cut]))
        rest, held = [view[cut:]], len(view) - cut
    if last := b"".join(rest):
        yield last


def _behind_newline(view: memoryview) -> int:
    """The place behind the last newline; 0 if there is none."""
    near = bytes(view[-_NEAR:])
    if place := near.rfind(b"\n") + 1:
        return len(view) - len(near) + place
    return bytes(view).rfind(b"\n") + 1
