"""Counting byte ranges of files, with the native scanners or with a regex.

Workers count so, and so does a producer without workers. What is raised is `OSError` with the
file's name, `SegmentEndError`, `SegmentTextError` or `SegmentTimeError`: subclasses of built-in
exceptions, so that callers can tell them apart without importing this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bpefleet.kernel._kernel import UNICODE_VERSION, Counts, Cutter, InvalidUtf8
from bpefleet.kernel.blocks import blocks
from bpefleet.kernel.clock import ReadClock
from bpefleet.kernel.errors import SegmentTextError, SegmentTimeError, text_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bpefleet.kernel.blocks import Admit, Segment

__all__ = ["SegmentTextError", "SegmentTimeError", "Tally", "count_segments", "engine"]


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


class _Native:
    """Counts by a scanner of the kernel."""

    def __init__(
        self, pattern: str, special_tokens: Sequence[str], errors: str, admit: Admit
    ) -> None:
        self._admit = admit
        self._pattern = pattern
        self._special_tokens = special_tokens
        self._cutter = Cutter(pattern, special_tokens)
        self._errors: Literal["strict", "replace"] = "replace" if errors == "replace" else "strict"

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        replaced = 0
        for offset, block in clock.each(blocks(segment, self._cutter, admit=self._admit)):
            try:
                replaced += counts.count(
                    block, self._pattern, self._special_tokens, errors=self._errors
                )
            except InvalidUtf8 as error:
                raise text_error(segment, offset, block, error.offset) from None
        return replaced, 0
