"""Counting by the `regex` package, for rules that have no native scanner."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import regex

from bpefleet.kernel.blocks import read
from bpefleet.kernel.segments import SegmentTimeError, text_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.blocks import Segment
    from bpefleet.kernel.segments import ReadClock

_PATIENCE: Final = 20.0
_SLOWEST: Final = 50_000
"""Seconds, and characters a second beside, that a regex may take for a stretch of text. The slowest
rule seen in use does millions.
"""
_REPLACEMENT: Final = "\ufffd"


class RegexCounter:
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
            raise text_error(segment, error.start) from None
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
