"""Where text may be cut so that its pre-tokens are those of the uncut text.

Two kinds of place are safe:

* The start of a special token that no other occurrence of a special token overlaps: pieces
  between special tokens are scanned alone anyway.
* For the rules listed in `CUTTABLE`, a space between an ASCII letter or digit and an ASCII
  letter: each of these rules ends a pre-token before such a space and starts the next one with
  it, and none looks further. Not so for an unknown regex, hence for those only special tokens.

Positions are byte offsets; both kinds fall between characters of valid UTF-8.
"""

from __future__ import annotations

import re
from functools import lru_cache
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from bpefleet.shared.pretokens.patterns import PATTERNS, Pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CUTTABLE: Final = frozenset(PATTERNS) - {"deepseek-v3"}
"""Names of the rules proven (and tested) to allow a cut at a space between ASCII words."""

_NEAR: Final = 1024
"""Bytes from the end in which the last cut is looked for first."""

# The space comes first: `re` looks for a literal at the start of a regex many times faster.
_BETWEEN_WORDS = rb" (?<=[A-Za-z0-9] )(?=[A-Za-z])"


class Boundaries:
    """Finds safe cuts for one pattern and set of special tokens.

    Attributes:
        reach: Bytes around a place that decide whether it is safe.
    """

    def __init__(self, pattern: Pattern, special_tokens: tuple[str, ...]) -> None:
        self._tokens = [token.encode() for token in special_tokens]
        # Each search on its own, as that of an alternative is slow; of those that begin alike, the
        # common part is the literal. Matches need not overlap: a place inside one is no cut anyway.
        places = [b"|".join(map(re.escape, alike)) for alike in _by_first_byte(self._tokens)]
        if pattern.name in CUTTABLE:
            places.append(_BETWEEN_WORDS)
        self._places = [re.compile(place) for place in places]
        # Of ten thousand tokens few or none have the byte before which one would cut.
        self._across: dict[int, list[bytes]] = {byte: [] for byte in range(256)}
        for token in self._tokens:
            for byte in set(token[1:]):
                self._across[byte].append(token)
        self.reach = max(map(len, self._tokens), default=0) + 2

    def cuts(self, data: bytes, start: int, end: int) -> Iterator[int]:
        """The safe cuts in `data[start:end]`, ascending.

        `data` must hold `reach` bytes on both sides of the range, or begin or end with the text.
        """
        found = (_starts(place, data, start, end + self.reach) for place in self._places)
        for place, _ in groupby(merge(*found)):
            if place >= end:
                return
            if not self._inside_token(data, place):
                yield place

    def last(self, data: bytes, start: int, end: int) -> int:
        """The last safe cut in `data[start:end]`, on the conditions of `cuts`; 0 for none."""
        reach = _NEAR
        while True:
            begin = max(start, end - reach)
            if cut := max(self.cuts(data, begin, end), default=0):
                return cut
            if begin == start:
                return 0
            reach *= 8

    def _inside_token(self, data: bytes, place: int) -> bool:
        """Whether an occurrence of a special token starts before `place` and ends after it."""
        return any(
            data.find(token, max(0, place - len(token) + 1), place + len(token) - 1) >= 0
            for token in self._across[data[place]]
        )


def _by_first_byte(tokens: Iterable[bytes]) -> Iterator[list[bytes]]:
    for _, alike in groupby(sorted(tokens), key=itemgetter(0)):
        yield list(alike)


def _starts(place: re.Pattern[bytes], data: bytes, start: int, end: int) -> Iterator[int]:
    return (match.start() for match in place.finditer(data, start, end))


@lru_cache(maxsize=8)
def boundaries(pattern: Pattern, special_tokens: tuple[str, ...]) -> Boundaries:
    """The boundaries of a rule, compiled once."""
    return Boundaries(pattern, special_tokens)
