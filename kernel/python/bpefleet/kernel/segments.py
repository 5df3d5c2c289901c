"""Counting byte ranges of files, with the native scanners or with a regex.

The one way that text on disk becomes counts, for whoever counts: a worker, or a producer that
needs no queue. Errors are subclasses of built-in ones, so that callers can translate them without
knowing this package: `OSError` (with the file's name), `SegmentEndError`, `SegmentTextError`,
`SegmentTimeError`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from bpefleet.kernel._kernel import UNICODE_VERSION, Counts, InvalidUtf8
from bpefleet.kernel.blocks import blocks
from bpefleet.kernel.plain import is_mostly_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bpefleet.kernel.blocks import Admit, Segment

T = TypeVar("T")

_AROUND: Final = 1 << 15
"""Bytes on both sides of a bad place that tell whether the whole is text."""


class SegmentTimeError(TimeoutError):
    """The regex takes too long on a segment; the text has the regex and the file."""


class SegmentTextError(UnicodeError):
    """A segment holds bytes that are not UTF-8; the text has the file and the byte offset in it.

    Attributes:
        is_mostly_text: Whether that is the exception around there.
    """

    is_mostly_text = True


@dataclass(frozen=True, slots=True)
class Tally:
    """What counting met besides pre-tokens.

    Attributes:
        bytes_read: Bytes of all segments.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes of text that the regex matched nowhere; no part of any pre-token.
        read_seconds: Time spent reading; the rest went to scanning and counting.
    """

    bytes_read: int
    replaced: int
    unmatched: int
    read_seconds: float


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
) -> tuple[Counts, Tally]:
    """Count the pre-tokens of some byte ranges.

    Args:
        segments: What to read; each is scanned alone.
        native: Name of the kernel's scanner for the rule; None to use `splits`.
        splits: One regex, whose matches are the pre-tokens; or several, applied in turn, each
            isolating its matches in all pieces that the ones before made.
        special_tokens: Never counted; each ends a piece of text. The longest wins at one place.
        errors: `strict`, or `replace` to count invalid bytes as U+FFFD. Special tokens are looked
            for before that: one that holds U+FFFD is found where the file itself has it.
        admit: Called with the descriptor and the path of each file that is opened, before anything
            is read; what it raises ends the count.

    Raises:
        OSError: A file is missing, unreadable or no regular file.
        SegmentEndError: A file is shorter than the plan says.
        SegmentTextError: Invalid UTF-8, when `errors` is `strict`.
        SegmentTimeError: A regex takes too long: it backtracks without end.
    """
    counts = Counts()
    count: Callable[[Segment, Counts, ReadClock], tuple[int, int]]
    if native:
        count = _Native(native, special_tokens, errors, admit)
    else:
        from bpefleet.kernel.regexes import RegexCounter  # noqa: PLC0415  slow to import

        count = RegexCounter(splits, special_tokens, errors, admit)
    bytes_read = replaced = unmatched = 0
    clock = ReadClock()
    for segment in segments:
        found = count(segment, counts, clock)
        bytes_read += segment.end - segment.start
        replaced += found[0]
        unmatched += found[1]
    return counts, Tally(bytes_read, replaced, unmatched, clock.seconds)


class ReadClock:
    """Adds up the time that an iterator takes to bring its items.

    Attributes:
        seconds: So far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, timed."""
        source = iter(items)
        while True:
            start = time.perf_counter()
            try:
                item = next(source)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - start
            yield item


class _Native:
    """Counts by a scanner of the kernel."""

    def __init__(
        self, pattern: str, special_tokens: Sequence[str], errors: str, admit: Admit
    ) -> None:
        self._admit = admit
        self._pattern = pattern
        self._special_tokens = special_tokens
        self._errors: Literal["strict", "replace"] = "replace" if errors == "replace" else "strict"

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        replaced = 0
        found = blocks(segment, self._special_tokens, admit=self._admit)
        for offset, block in clock.each(found):
            try:
                replaced += counts.count(
                    block, self._pattern, self._special_tokens, errors=self._errors
                )
            except InvalidUtf8 as error:
                raise text_error(segment, offset, block, error.offset) from None
        return replaced, 0


def text_error(segment: Segment, offset: int, data: bytes, bad: int) -> SegmentTextError:
    """The error of a segment that is not UTF-8.

    Args:
        segment: Which.
        offset: Where in it `data` begins.
        data: Some of its bytes.
        bad: Where in these the first bad one is.
    """
    at = segment.start + offset + bad
    error = SegmentTextError(f"{segment.path} is not UTF-8 at byte {at}")
    error.is_mostly_text = is_mostly_text(data[max(0, bad - _AROUND) : bad + _AROUND])
    return error
