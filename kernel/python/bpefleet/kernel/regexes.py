"""Counting by the `regex` package, for rules that have no native scanner."""

from __future__ import annotations

import re
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import regex

from bpefleet.kernel._kernel import Cutter, InvalidUtf8
from bpefleet.kernel.blocks import read
from bpefleet.kernel.errors import text_error
from bpefleet.kernel.records import integers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.blocks import Admit, Segment
    from bpefleet.kernel.clock import ReadClock

_PATIENCE: Final = 20.0
_SLOWEST: Final = 50_000
"""Seconds of CPU time, and bytes a second beside, that a regex may take for a segment. The slowest
rule seen in use does millions.
"""
_ASK_EVERY: Final = 0.01
"""Seconds between two looks at the CPU clock, which costs as much as a small match."""
_REPLACEMENT: Final = "\ufffd"


class Splitter:
    """Cuts text between special tokens as a rule does, whoever asks: to count it or to encode it.

    Args:
        splits: See `count_segments`.
    """

    def __init__(self, splits: Sequence[str]) -> None:
        self._splits = [regex.compile(split) for split in splits]

    def pieces(self, text: str, patience: Patience) -> Iterator[tuple[str, bool]]:
        """All pieces of `text`, each with whether it is a pre-token.

        Isolating splits keep what lies between their matches; a single regex drops it, as
        `findall` and tiktoken do.

        Raises:
            TimeoutError: The regexes take too long.
        """
        pieces: Iterable[tuple[str, bool]] = ((text, len(self._splits) > 1),)
        for split in self._splits:
            pieces = _cut(split, pieces, patience)
        yield from pieces


class RegexCounter:
    """Counts by the `regex` package, for rules that have no native scanner.

    Attributes:
        cutter: Cuts at special tokens: of such a rule nothing else is known.
        special_tokens: These.
    """

    def __init__(
        self,
        splits: Sequence[str],
        special_tokens: Sequence[str],
        errors: str,
        admit: Admit = None,
    ) -> None:
        self._splitter = Splitter(splits)
        longest_first = sorted((token.encode() for token in special_tokens), key=len, reverse=True)
        either = b"|".join(map(re.escape, longest_first))
        # `re` finds one of ten thousand tokens six times as fast as `regex` does.
        self._special = re.compile(either) if either else None
        self.special_tokens = special_tokens
        self._errors = errors
        self._admit = admit
        self.cutter = Cutter("", special_tokens)

    def __call__(self, segment: Segment, counts: Counts, clock: ReadClock) -> tuple[int, int]:
        """Add the pre-tokens of a segment to `counts`; replaced sequences, unmatched bytes."""
        (data,) = clock.each(read(each, self._admit) for each in (segment,))
        try:
            return self.text(data, counts)
        except InvalidUtf8 as error:
            raise text_error(segment, 0, data, error.offset) from None

    def text(self, data: bytes, counts: Counts) -> tuple[int, int]:
        """Count a text; replaced sequences, unmatched bytes.

        Raises:
            InvalidUtf8: It is not UTF-8.
            TimeoutError: The regexes take too long.
        """
        return self._count([(0, data)], len(data), counts)

    def documents(
        self, data: Buffer, offsets: Buffer, offset_bytes: Literal[4, 8], counts: Counts
    ) -> tuple[int, int]:
        """Count documents, each alone; likewise."""
        text = memoryview(data)
        places = integers(offsets, offset_bytes)
        each = ((start, bytes(text[start:end])) for start, end in pairwise(places))
        return self._count(each, places[-1] - places[0], counts)

    def _count(
        self, documents: Iterable[tuple[int, bytes]], size: int, counts: Counts
    ) -> tuple[int, int]:
        patience = Patience(size)
        found: Counter[str] = Counter()
        replaced = unmatched = 0
        for at, document in documents:
            for start, part in self._between_special(document):
                try:
                    text = part.decode("utf-8", self._errors)
                except UnicodeDecodeError as error:
                    bad = InvalidUtf8("not UTF-8")
                    bad.offset = at + start + error.start
                    raise bad from None
                if self._errors != "strict":
                    # U+FFFD that the text itself holds always decodes to itself.
                    replaced += text.count(_REPLACEMENT) - part.count(_REPLACEMENT.encode())
                unmatched += self._count_piece(text, found, patience)
        counts.add_all(found)
        return replaced, unmatched

    def _between_special(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """What lies between special tokens, with its offset.

        Of the bytes as they stand, as the native scanners and the cuts between chunks have it: what
        is replaced afterwards makes no special token.
        """
        at = 0
        for match in self._special.finditer(data) if self._special else ():
            yield at, data[at : match.start()]
            at = match.end()
        yield at, data[at:] if at else data

    def _count_piece(self, text: str, found: Counter[str], patience: Patience) -> int:
        """Add the pieces of a text to those that were found; unmatched bytes."""
        unmatched = 0
        for piece, is_pretoken in self._splitter.pieces(text, patience):
            if is_pretoken:
                found[piece] += 1
            else:
                unmatched += len(piece.encode())
        return unmatched


class Patience:
    """The time that is left for a text: one for all its pieces, of which there may be many."""

    def __init__(self, size: int) -> None:
        """Begin, with a text of so many bytes."""
        seconds = _PATIENCE + size / _SLOWEST
        self._end = time.process_time() + seconds
        self._left = seconds
        self._ask = time.monotonic() + _ASK_EVERY

    def left(self) -> float:
        """Seconds of CPU time, which is what `regex` measures.

        Raises:
            TimeoutError: None is left.
        """
        if (now := time.monotonic()) >= self._ask:
            self._left = self._end - time.process_time()
            self._ask = now + _ASK_EVERY
            if self._left <= 0:
                raise TimeoutError
        return self._left


def _cut(
    split: regex.Pattern[str], pieces: Iterable[tuple[str, bool]], patience: Patience
) -> Iterator[tuple[str, bool]]:
    """Isolate the matches of `split` in each piece; what lies between keeps its mark."""
    for text, matched in pieces:
        at = 0
        for match in split.finditer(text, timeout=patience.left()):
            start, end = match.span()
            if at < start:
                yield text[at:start], matched
            if start < end:
                yield text[start:end], True
            at = end
        if at < len(text):
            yield text[at:], matched
