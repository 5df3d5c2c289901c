"""Counting segments of other formats than plain text, as their texts come from a reader.

What reads them is handed in, since it belongs to what workers and producers share, of which the
kernel imports nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from bpefleet.kernel._kernel import Counts, InvalidUtf8, JsonLineError, Sampler, Taken, json_texts
from bpefleet.kernel.blocks import joined
from bpefleet.kernel.errors import SegmentRecordError, around, not_utf8, not_utf8_record
from bpefleet.kernel.opening import opened_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from typing_extensions import Buffer

    from bpefleet.kernel._kernel import Cutter
    from bpefleet.kernel.blocks import Admit, Segment
    from bpefleet.kernel.clock import ReadClock

    File: TypeAlias = Any
    """A `LocalFile`, or what a reader opened."""

PLAIN: Final = "text"
"""The format of plain text, which takes no reader."""
_LINES: Final = "jsonl"
_COUNTED: Final = ("counts", "counts-parquet")
_WIDE: Final = 8


class Texts(Protocol):
    """The texts of some records: the first is `data[offsets[0]:offsets[1]]`."""

    @property
    def data(self) -> Buffer:
        """All of them."""

    @property
    def offsets(self) -> Buffer:
        """Native signed integers."""

    @property
    def offset_bytes(self) -> Literal[4, 8]:
        """Bytes of one of these, 4 or 8."""

    @property
    def records(self) -> int:
        """Records, with those that are absent."""

    @property
    def absent(self) -> int:
        """Records that have no text, and are not in `offsets`."""

    def place(self, document: int) -> str:
        """Where in its file a text is, in words."""


class Reader(Protocol):
    """Reads segments of any format from their files, wherever these lie."""

    @property
    def field(self) -> Sequence[str]:
        """The keys that lead to the text of a record."""

    def is_remote(self, path: str) -> bool:
        """Whether a file lies in a store, and not on a path of this machine."""

    def name(self, segment: Segment) -> str:
        """What a file of lines is called where a line of it is told."""

    def opened(self, segment: Segment) -> AbstractContextManager[File]:
        """The file of such a segment."""

    def text(self, segment: Segment, file: File, finder: Cutter) -> Iterator[bytes | memoryview]:
        """A text's bytes, in pieces; a part of a text begins and ends where `finder` says."""

    def byte(self, segment: Segment, file: File, offset: int, finder: Cutter) -> int:
        """The place in what the file holds of an offset in a text."""

    def lines(self, segment: Segment, file: File) -> Iterator[tuple[int, bytes]]:
        """Blocks of whole lines of JSON with their offsets."""

    def line(self, segment: Segment, file: File, offset: int) -> int:
        """The number in the file of the line at such an offset."""

    def rows(self, segment: Segment, file: File, sampler: Sampler | None = None) -> Iterator[Texts]:
        """The texts of a table's rows, or of those that a sampler takes."""

    def counts(
        self, segment: Segment, file: File
    ) -> Iterator[tuple[int, Sequence[tuple[bytes, int]]]]:
        """Pre-tokens and their counts, some at a time, and the bytes of text they stand for."""


class Scanner(Protocol):
    """Counts texts that are in memory; what is not UTF-8 is `InvalidUtf8`."""

    @property
    def special_tokens(self) -> Sequence[str]:
        """What ends a piece of text."""

    @property
    def cutter(self) -> Cutter:
        """Cuts a text that is too long for that."""

    def text(self, data: bytes, counts: Counts) -> tuple[int, int]:
        """Count a text; replaced sequences, unmatched bytes."""

    def documents(
        self, data: Buffer, offsets: Buffer, offset_bytes: Literal[4, 8], counts: Counts
    ) -> tuple[int, int]:
        """Count documents, each alone; likewise."""


class Found(NamedTuple):
    """What there was in a segment: bytes of text, and as in `segments.Tally`."""

    size: int = 0
    replaced: int = 0
    unmatched: int = 0
    records: int = 0
    absent: int = 0

    def plus(self, more: Found) -> Found:
        """These and more."""
        return Found(*(a + b for a, b in zip(self, more, strict=True)))


class RecordCounter:
    """Counts segments that a reader reads.

    Args:
        scanner: Counts their texts.
        reader: Reads them.
        admit: See `opening.opened`.
        sampler: Takes some of the documents; None for all.
    """

    def __init__(
        self, scanner: Scanner, reader: Reader, admit: Admit, sampler: Sampler | None = None
    ) -> None:
        self._scanner = scanner
        self._reader = reader
        self._admit = admit
        self._sampler = sampler

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> Found:
        """Add the pre-tokens of a segment to `counts`.

        Raises:
            OSError: The file is missing, unreadable or no regular file; `filename` is set.
            SegmentTextError: A text is not UTF-8.
            SegmentRecordError: A line is no record.
            TimeoutError: A regex takes too long.
        """
        found = Found()
        is_remote = self._reader.is_remote(segment.path)
        with self._reader.opened(segment) if is_remote else self._local(segment) as file:
            for more in self._parts(segment)(segment, file, counts, clock):
                found = found.plus(more)
        return found

    def _local(self, segment: Segment) -> AbstractContextManager[File]:
        return opened_file(segment.path, self._admit)

    def _parts(
        self, segment: Segment
    ) -> Callable[[Segment, File, Counts, ReadClock], Iterator[Found]]:
        parts = {PLAIN: self._text, _LINES: self._lines}
        parts |= dict.fromkeys(_COUNTED, self._counts)
        return parts.get(_kind(segment), self._rows)

    def _text(
        self, segment: Segment, file: File, counts: Counts, clock: ReadClock
    ) -> Iterator[Found]:
        cutter = self._scanner.cutter
        pieces = clock.each(self._reader.text(segment, file, cutter))
        blocks = joined(pieces, cutter)
        if self._sampler is not None:
            yield from self._pieces(segment, blocks, counts, self._sampler)
            return
        for offset, block in blocks:
            try:
                found = self._scanner.text(block, counts)
            except InvalidUtf8 as error:
                byte = self._reader.byte(segment, file, offset + error.offset, cutter)
                place = f"byte {byte}" + " of what it holds decompressed" * _is_compressed(segment)
                raise not_utf8(segment.path, place, around(block, error.offset)) from None
            yield Found(len(block), *found)

    def _pieces(
        self,
        segment: Segment,
        blocks: Iterable[tuple[int, bytes]],
        counts: Counts,
        sampler: Sampler,
    ) -> Iterator[Found]:
        special_tokens, first = self._scanner.special_tokens, None
        for offset, block in blocks:
            at = _base(segment) + offset
            taken = sampler.pieces(block, at, special_tokens, first)
            first = taken.last
            try:
                found = self._scanner.documents(taken.data, taken.offsets, _WIDE, counts)
            except InvalidUtf8 as error:
                place = f"byte {at + _origin(taken, error.offset)}"
                place += " of what it holds decompressed" if "+" in segment.format else ""
                raise not_utf8(segment.path, place, around(taken.data, error.offset)) from None
            yield Found(len(taken.data), *found)

    def _lines(
        self, segment: Segment, file: File, counts: Counts, clock: ReadClock
    ) -> Iterator[Found]:
        field = self._reader.field
        taken = None
        for offset, block in clock.each(self._reader.lines(segment, file)):
            if self._sampler is not None:
                taken = self._sampler.lines(block, _base(segment) + offset)
            try:
                texts = json_texts(block if taken is None else taken.data, field)
            except JsonLineError as error:
                line = self._reader.line(segment, file, offset + _origin(taken, error.offset))
                name = self._reader.name(segment)
                raise SegmentRecordError(f"line {line} of {name} {error.reason}") from None
            try:
                found = self._scanner.documents(texts.data, texts.offsets, _WIDE, counts)
            except InvalidUtf8 as error:
                document = bisect_right(integers(texts.offsets, _WIDE), error.offset) - 1
                start = offset + _origin(taken, integers(texts.starts, _WIDE)[document])
                place = f"line {self._reader.line(segment, file, start)}"
                raise not_utf8_record(
                    self._reader.name(segment), place, texts.data, error.offset
                ) from None
            yield Found(len(texts.data), *found, texts.records, texts.absent)

    def _rows(
        self, segment: Segment, file: File, counts: Counts, clock: ReadClock
    ) -> Iterator[Found]:
        for texts in clock.each(self._reader.rows(segment, file, self._sampler)):
            data, offsets, width = texts.data, texts.offsets, texts.offset_bytes
            places = integers(offsets, width)
            try:
                found = self._scanner.documents(data, offsets, width, counts)
            except InvalidUtf8 as error:
                place = texts.place(bisect_right(places, error.offset) - 1)
                raise not_utf8(segment.path, place, around(data, error.offset)) from None
            yield Found(places[-1] - places[0], *found, texts.records, texts.absent)

    def _counts(
        self, segment: Segment, file: File, counts: Counts, clock: ReadClock
    ) -> Iterator[Found]:
        for size, pairs in clock.each(self._reader.counts(segment, file)):
            counts.add_all(pairs)
            yield Found(size)


def _base(segment: Segment) -> int:
    """The place in its (decompressed) file at which a segment begins."""
    return 0 if "+" in segment.format else segment.start


def _origin(taken: Taken | None, offset: int) -> int:
    """Where in a block something is, by where it is in what was taken of the block."""
    if taken is None:
        return offset
    offsets = integers(taken.offsets, _WIDE)
    stretch = bisect_right(offsets, offset) - 1
    return integers(taken.starts, _WIDE)[stretch] + offset - offsets[stretch]


def integers(offsets: Buffer, offset_bytes: int) -> memoryview[int]:
    """Offsets as numbers."""
    return memoryview(offsets).cast("B").cast("q" if offset_bytes == _WIDE else "i")


def _is_compressed(segment: Segment) -> bool:
    return "+" in segment.format


def unit(segment: Segment) -> str:
    """What a segment's start and end count."""
    return "bytes" if _kind(segment) in (PLAIN, _LINES, "counts") else "rows"


def _kind(segment: Segment) -> str:
    return segment.format.partition("+")[0]
