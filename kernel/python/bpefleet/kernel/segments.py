"""Counting parts of files, with the native scanners or with a regex.

Workers count so, and so does a producer without workers. What is raised is `OSError` with the
file's name, `SegmentEndError`, `SegmentTextError`, `SegmentRecordError` or `SegmentTimeError`:
subclasses of built-in exceptions, so that callers can tell them apart without importing this
package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bpefleet.kernel._kernel import UNICODE_VERSION, Counts, Cutter, InvalidUtf8, Sampler
from bpefleet.kernel.blocks import blocks
from bpefleet.kernel.clock import ReadClock
from bpefleet.kernel.errors import (
    SegmentRecordError,
    SegmentTextError,
    SegmentTimeError,
    text_error,
)
from bpefleet.kernel.records import PLAIN, Found, RecordCounter, unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel.blocks import Admit, Segment
    from bpefleet.kernel.records import Reader
    from bpefleet.kernel.regexes import RegexCounter

__all__ = [
    "SegmentRecordError",
    "SegmentTextError",
    "SegmentTimeError",
    "Tally",
    "count_segments",
    "engine",
]


@dataclass(frozen=True, slots=True)
class Tally:
    """What counting met besides pre-tokens.

    Attributes:
        bytes_read: Bytes of all texts.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes of text that the regex matched nowhere; no part of any pre-token.
        read_seconds: Time spent reading; the rest went to scanning and counting.
        records: Records, such as rows; plain text has none.
        absent: Those of them that have no text.
    """

    bytes_read: int
    replaced: int
    unmatched: int
    read_seconds: float
    records: int = 0
    absent: int = 0


def engine(native: str | None) -> str:
    """What decides where text is split, beside the rule itself: the scanner and its Unicode."""
    if native:
        return f"kernel unicode {UNICODE_VERSION}"
    import regex  # noqa: PLC0415  slow to import

    return f"regex {regex.__version__}"


def count_segments(
    segments: Iterable[Segment],
    *,
    native: str | None,
    splits: Sequence[str],
    special_tokens: Sequence[str],
    errors: str,
    admit: Admit = None,
    reader: Reader | None = None,
    share: int = 0,
    seeds: Sequence[int] = (),
) -> tuple[Counts, Tally]:
    """Count the pre-tokens of some parts of files.

    Args:
        segments: What to read; each is scanned alone, and of records each.
        native: Name of the kernel's scanner for the rule; None to use `splits`.
        splits: One regex, whose matches are the pre-tokens; or several, applied in turn, each
            isolating its matches in all pieces that the ones before made.
        special_tokens: Never counted; each ends a piece of text. The longest wins at one place.
        errors: `strict`, or `replace` to count invalid bytes as U+FFFD. Special tokens are looked
            for before that: one that holds U+FFFD is found where the file itself has it.
        admit: Called with the descriptor and the path of each file that is opened, before anything
            is read; what it raises ends the count.
        reader: Reads segments that are not plain text, and those of files in stores. Its
            exceptions go to the caller.
        share: The share of the documents that is counted, as for `Sampler`.
        seeds: For each segment the seed of its `Sampler`; none to count all documents.

    Raises:
        OSError: A file is missing, unreadable or no regular file.
        SegmentEndError: A file is shorter than the plan says.
        SegmentTextError: Invalid UTF-8, when `errors` is `strict`.
        SegmentRecordError: A line that is no record.
        SegmentTimeError: A regex takes too long: it backtracks without end.
        ValueError: There is a segment of another format, and no reader.
    """
    counts = Counts()
    scanner: _Native | RegexCounter
    if native:
        scanner = _Native(native, special_tokens, errors, admit)
    else:
        from bpefleet.kernel.regexes import RegexCounter  # noqa: PLC0415  slow to import

        scanner = RegexCounter(splits, special_tokens, errors, admit)
    total, clock = Found(), ReadClock()
    for index, segment in enumerate(segments):
        sampler = Sampler(seeds[index], share) if seeds else None
        try:
            if is_plain(segment, reader) and sampler is None:
                size = segment.end - segment.start
                found = Found(size, *scanner(segment, counts, clock))
            elif reader is not None:
                found = RecordCounter(scanner, reader, admit, sampler)(segment, counts, clock)
            else:
                raise ValueError(f"nothing reads {segment.format}: {segment.path}")
        except TimeoutError as error:
            if error.errno is not None:  # the system's
                raise
            raise SegmentTimeError(
                f"the pattern {' then '.join(splits)} takes too long on {segment.path}, "
                f"{unit(segment)} {segment.start} to {segment.end}"
            ) from None
        total = total.plus(found)
    return counts, Tally(
        bytes_read=total.size,
        replaced=total.replaced,
        unmatched=total.unmatched,
        read_seconds=clock.seconds,
        records=total.records,
        absent=total.absent,
    )


def is_plain(segment: Segment, reader: Reader | None) -> bool:
    """Whether it is plain text on a path of this machine, which the kernel reads itself."""
    return segment.format == PLAIN and not (reader and reader.is_remote(segment.path))


class _Native:
    """Counts by a scanner of the kernel.

    Attributes:
        cutter: Cuts as its rule allows.
        special_tokens: What ends a piece of text.
    """

    def __init__(
        self, pattern: str, special_tokens: Sequence[str], errors: str, admit: Admit
    ) -> None:
        self._admit = admit
        self._pattern = pattern
        self.special_tokens = special_tokens
        self.cutter = Cutter(pattern, special_tokens)
        self._errors: Literal["strict", "replace"] = "replace" if errors == "replace" else "strict"

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        replaced = 0
        for offset, block in clock.each(blocks(segment, self.cutter, admit=self._admit)):
            try:
                replaced += self.text(block, counts)[0]
            except InvalidUtf8 as error:
                raise text_error(segment, offset, block, error.offset) from None
        return replaced, 0

    def text(self, data: bytes, counts: Counts) -> tuple[int, int]:
        """Count a text; replaced sequences, unmatched bytes.

        Raises:
            InvalidUtf8: It is not UTF-8.
        """
        return counts.count(data, self._pattern, self.special_tokens, errors=self._errors), 0

    def documents(
        self, data: Buffer, offsets: Buffer, offset_bytes: Literal[4, 8], counts: Counts
    ) -> tuple[int, int]:
        """Count documents, each alone; likewise."""
        replaced = counts.count_documents(
            data,
            offsets,
            self._pattern,
            self.special_tokens,
            errors=self._errors,
            offset_bytes=offset_bytes,
        )
        return replaced, 0
