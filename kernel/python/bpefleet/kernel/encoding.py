"""Encoding parts of files, as `segments` counts them: the same readers, blocks and errors.

Encoding needs no more than the cuts promise: no pre-token crosses a cut, so the ids of a text are
those of its blocks, one after the other.
"""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bpefleet.kernel._kernel import Cutter, InvalidUtf8, Sampler, store_ids
from bpefleet.kernel.blocks import blocks
from bpefleet.kernel.clock import ReadClock
from bpefleet.kernel.errors import text_error
from bpefleet.kernel.records import PLAIN, Found, RecordCounter
from bpefleet.kernel.segments import Tally, is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel._kernel import Integers
    from bpefleet.kernel.blocks import Admit, Segment
    from bpefleet.kernel.records import Reader


class Ids(Protocol):
    """The ids of some documents."""

    @property
    def ids(self) -> Buffer:
        """All of them: native unsigned integers of 4 bytes."""

    @property
    def ends(self) -> Buffer:
        """How many there are up to the end of each document: such integers of 8 bytes."""

    @property
    def replaced(self) -> int:
        """Sequences of bytes that were not UTF-8, and replaced."""


class Encodes(Protocol):
    """Encodes documents, each alone: `Encoder`, or what splits by a regex first."""

    def encode_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        offset_bytes: Literal[4, 8] = 8,
        errors: Literal["strict", "replace"] = "strict",
        counted: bool = False,
    ) -> Ids:
        """The ids of the documents; what is not UTF-8 is `InvalidUtf8`, or replaced.

        If they are only `counted`, `ids` may be empty.
        """


class Tokens:
    """Takes the ids of a chunk in order, and hands them on as they are stored.

    Attributes:
        count: Ids so far, separators included.
        ends: How many there are up to the end of each document.
        open: Whether a document goes on; None as long as only the chunk before knows.
        conditional: Whether the first document is one that may have ended in the chunk before.
    """

    def __init__(
        self, write: Callable[[Buffer], object], width: Literal[2, 4], separator: int | None
    ) -> None:
        """Prepare to take ids.

        Args:
            write: Given the bytes of ids, little-endian, piece by piece.
            width: Bytes of one; 0 to count them only, without separators.
            separator: The id that ends each document; None for none.
        """
        self.count = 0
        self.ends = array("Q")
        self.open: bool | None = None
        self.conditional = False
        self._write = write
        self._width = width
        self._separator = separator
        self._mark = b"" if separator is None else separator.to_bytes(width, "little")

    def begin_file(self) -> None:
        """A file begins, and a document with it."""
        self.open = False

    def end_file(self) -> None:
        """A file ends, and the document that is open."""
        if self.open is False:
            return
        self.conditional = self.open is None
        self._put(self._mark)
        self.ends.append(self.count)
        self.open = False

    @property
    def counted(self) -> bool:
        """Whether they are only counted."""
        return not self._width

    def text(self, found: Ids) -> None:
        """Take the ids of one text, in which each separator ends a document."""
        before = self.count
        if self.counted:
            self.count += sum(memoryview(found.ends)[-1:])
        else:
            self._take(*store_ids(found.ids, None, self._width, self._separator))
        if self.count > before:
            self.open = not (self.ends and self.ends[-1] == self.count)

    def documents(self, found: Ids) -> None:
        """Take the ids of whole documents."""
        if self.counted:
            self._end(found.ends)
            self.count += sum(memoryview(found.ends)[-1:])
        else:
            self._take(*store_ids(found.ids, found.ends, self._width, self._separator))
        self.open = False

    def _take(self, data: bytes, ends: Integers) -> None:
        self._end(ends)
        self._put(data)

    def _end(self, ends: Buffer) -> None:
        if first := self.count:
            self.ends.extend([first + end for end in memoryview(ends)])
        else:
            self.ends.frombytes(memoryview(ends).cast("B"))

    def _put(self, data: bytes) -> None:
        if data:
            self._write(data)
            self.count += len(data) // self._width


class _Scanner:
    """What `RecordCounter` needs to encode instead of counting."""

    def __init__(
        self, encoder: Encodes, pattern: str, special_tokens: Sequence[str], errors: str
    ) -> None:
        self.special_tokens = special_tokens
        self.cutter = Cutter(pattern, special_tokens)
        self._encoder = encoder
        self._errors: Literal["strict", "replace"] = "replace" if errors == "replace" else "strict"

    def text(self, data: bytes, tokens: Any) -> tuple[int, int]:
        places = struct.pack("=2q", 0, len(data))
        found = self._encoder.encode_documents(
            data, places, errors=self._errors, counted=tokens.counted
        )
        tokens.text(found)
        return found.replaced, 0

    def documents(
        self, data: Buffer, offsets: Buffer, offset_bytes: Literal[4, 8], tokens: Any
    ) -> tuple[int, int]:
        found = self._encoder.encode_documents(
            data,
            offsets,
            offset_bytes=offset_bytes,
            errors=self._errors,
            counted=tokens.counted,
        )
        tokens.documents(found)
        return found.replaced, 0


def encode_segments(
    segments: Sequence[Segment],
    tokens: Tokens,
    *,
    encoder: Encodes,
    ends: Sequence[bool],
    pattern: str,
    special_tokens: Sequence[str],
    errors: str,
    admit: Admit = None,
    reader: Reader | None = None,
    share: int = 0,
    seeds: Sequence[int] = (),
) -> tuple[Tally, list[tuple[int, int]]]:
    """Encode some parts of files.

    Args:
        segments: What to read.
        tokens: Takes the ids.
        encoder: Makes them.
        ends: For each segment whether its file ends with it.
        pattern: The name of the split rule; of no other than those of `CUT_RULES` text is cut but
            at special tokens.
        special_tokens: Each becomes its id, and ends a piece of text.
        errors: `strict`, or `replace` for U+FFFD in place of invalid bytes.
        admit: As for `count_segments`, like all that follow and what is raised.
        reader: Likewise.
        share: Likewise.
        seeds: Likewise.

    Returns:
        What there was, and for each segment how many ids and ends of documents.
    """
    scanner = _Scanner(encoder, pattern, special_tokens, errors)
    total, clock = Found(), ReadClock()
    parts = []
    for index, segment in enumerate(segments):
        before = tokens.count, len(tokens.ends)
        if not segment.start or segment.format.partition("+")[0] != PLAIN:
            tokens.begin_file()  # of records each is whole
        sampler = Sampler(seeds[index], share) if seeds else None
        if is_plain(segment, reader) and sampler is None:
            found = _plain(segment, scanner, tokens, clock, admit)
        elif reader is not None:
            counter = RecordCounter(scanner, reader, admit, sampler)
            found = counter(segment, tokens, clock)  # type: ignore[arg-type]
        else:
            raise ValueError(f"nothing reads {segment.format}: {segment.path}")
        if ends[index]:
            tokens.end_file()
        total = total.plus(found)
        parts.append((tokens.count - before[0], len(tokens.ends) - before[1]))
    return Tally(
        bytes_read=total.size,
        replaced=total.replaced,
        unmatched=total.unmatched,
        read_seconds=clock.seconds,
        records=total.records,
        absent=total.absent,
    ), parts


def _plain(
    segment: Segment, scanner: _Scanner, tokens: Tokens, clock: ReadClock, admit: Admit
) -> Found:
    replaced = 0
    for offset, block in clock.each(blocks(segment, scanner.cutter, admit=admit)):
        try:
            replaced += scanner.text(block, tokens)[0]
        except InvalidUtf8 as error:
            raise text_error(segment, offset, block, error.offset) from None
    return Found(segment.end - segment.start, replaced)
