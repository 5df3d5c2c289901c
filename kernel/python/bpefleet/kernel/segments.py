"""Counting byte ranges of files, with the native scanners or with a regex.

The one way that text on disk becomes counts, for whoever counts: a worker, or a producer that
needs no queue. Errors are subclasses of built-in ones, so that callers can translate them without
knowing this package: `OSError` (with the file's name), `SegmentEndError`, `SegmentTextError`,
`SegmentTimeError`.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import regex

from bpefleet.kernel._kernel import UNICODE_VERSION, Counts, InvalidUtf8
from bpefleet.kernel.blocks import blocks, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.kernel.blocks import Segment

T = TypeVar("T")

_PATIENCE: Final = 20.0
_SLOWEST: Final = 50_000
"""Seconds, and characters a second beside, that a regex may take for a stretch of text. The slowest
rule seen in use does millions.
"""
_REPLACEMENT: Final = "\ufffd"


class SegmentTimeError(TimeoutError):
    """The regex takes too long on a segment; the text has the regex and the file."""


class SegmentTextError(UnicodeError):
    """A segment holds bytes that are not UTF-8; the text has the file and the byte offset in it."""


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
    return f"kernel unicode {UNICODE_VERSION}" if native else f"regex {regex.__version__}"


def count_segments(
    segments: Iterable[Segment],
    *,
    native: str | None,
    splits: Sequence[str],
    special_tokens: Sequence[str],
    errors: str,
) -> tuple[Counts, Tally]:
    """Count the pre-tokens of some byte ranges.

    Args:
        segments: What to read; each is scanned alone.
        native: Name of the kernel's scanner for the rule; None to use `splits`.
        splits: One regex, whose matches are the pre-tokens; or several, applied in turn, each
            isolating its matches in all pieces that the ones before made.
        special_tokens: Never counted; each ends a piece of text. The longest wins at one place.
        errors: `strict`, or `replace` to count invalid bytes as U+FFFD.

    Raises:
        OSError: A file is missing or unreadable.
        SegmentEndError: A file is shorter than the plan says.
        SegmentTextError: Invalid UTF-8, when `errors` is `strict`.
        SegmentTimeError: A regex takes too long: it backtracks without end.
    """
    counts = Counts()
    count = (
        _Native(native, special_tokens, errors)
        if native
        else _Regex(splits, special_tokens, errors)
    )
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

    def __init__(self, pattern: str, special_tokens: Sequence[str], errors: str) -> None:
        self._pattern = pattern
        self._special_tokens = special_tokens
        self._errors: Literal["strict", "replace"] = "replace" if errors == "replace" else "strict"

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        replaced = 0
        for offset, block in clock.each(blocks(segment, self._special_tokens)):
            try:
                replaced += counts.count(
                    block, self._pattern, self._special_tokens, errors=self._errors
                )
            except InvalidUtf8 as error:
                raise _text_error(segment, offset + error.offset) from None
        return replaced, 0


def _text_error(segment: Segment, offset: int) -> SegmentTextError:
    return SegmentTextError(f"{segment.path} is not UTF-8 at byte {segment.start + offset}")


class _Regex:
    """Counts by the `regex` package, for rules that have no native scanner."""

    def __init__(self, splits: Sequence[str], special_tokens: Sequence[str], errors: str) -> None:
        self._splits = [regex.compile(split) for split in splits]
        longest_first = sorted(special_tokens, key=len, reverse=True)
        either = "|".join(map(regex.escape, longest_first))
        self._special = regex.compile(either) if either else None
        self._errors = errors

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        (data,) = clock.each(map(read, (segment,)))
        try:
            text = data.decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            raise _text_error(segment, error.start) from None
        replaced = 0
        if self._errors != "strict":
            # U+FFFD that the text itself holds always decodes to itself.
            replaced = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
        found: Counter[str] = Counter()
        unmatched = 0
        try:
            for piece, matched in self._pieces(text):
                # Isolating splits keep what lies between their matches; a single regex drops it,
                # as `findall` and tiktoken do.
                if matched or len(self._splits) > 1:
                    found[piece] += 1
                else:
                    unmatched += len(piece.encode())
        except TimeoutError:
            regexes = " then ".join(split.pattern for split in self._splits)
            raise SegmentTimeError(
                f"the pattern {regexes} takes too long on {segment.path}, bytes "
                f"{segment.start} to {segment.end}"
            ) from None
        counts.add_all(found)
        return replaced, unmatched

    def _pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """All pieces of `text`, each with whether any split matched it."""
        for part in self._between_special(text):
            pieces: Iterable[tuple[str, bool]] = ((part, False),)
            for split in self._splits:
                pieces = _cut(split, pieces)
            yield from pieces

    def _between_special(self, text: str) -> Iterator[str]:
        at = 0
        for match in self._special.finditer(text) if self._special else ():
            yield text[at : match.start()]
            at = match.end()
        yield text[at:]


def _cut(
    split: regex.Pattern[str], pieces: Iterable[tuple[str, bool]]
) -> Iterator[tuple[str, bool]]:
    """Isolate the matches of `split` in each piece; what lies between keeps its mark."""
    for text, matched in pieces:
        at = 0
        for match in split.finditer(text, timeout=_PATIENCE + len(text) / _SLOWEST):
            start, end = match.span()
            if at < start:
                yield text[at:start], matched
            if start < end:
                yield text[start:end], True
            at = end
        if at < len(text):
            yield text[at:], matched
