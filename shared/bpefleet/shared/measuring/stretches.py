"""Plain text in documents that are short enough to be held, whatever the blocks it is read in.

Special tokens end a document. One that is longer than a stretch is divided: each part ends at the
first place behind its first `STRETCH` bytes at which a line of ASCII ends and the next begins with
an ASCII letter or digit, or a word of ASCII letters follows another by a space. No named split rule
has a pre-token across such a place, and no word by UAX #29 is: so tokens and words are those of the
whole text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STRETCH: Final = 1 << 16
"""Bytes: enough for a place to hardly ever matter, few enough for many stretches."""
_PLACE: Final = re.compile(rb"[!-~]\n(?=[A-Za-z0-9])|[A-Za-z0-9](?= [A-Za-z])")
_LOOKED_AT: Final = 3
"""Bytes of a place."""


class Stretches:
    """Takes a file's text block by block, and gives its documents."""

    def __init__(self, special_tokens: Iterable[str], stretch: int = STRETCH) -> None:
        tokens = sorted({token.encode() for token in special_tokens}, key=len, reverse=True)
        self._special = re.compile(b"|".join(map(re.escape, tokens))) if tokens else None
        self._longest = max(map(len, tokens), default=1)
        self._stretch = stretch
        self._held = bytearray()
        self._looked = 0
        """Bytes of it in which there is no end."""

    def take(self, block: bytes) -> Iterator[bytes]:
        """The documents that end in what is there so far; none is empty."""
        self._held += block
        yield from self._ended(len(self._held) - max(self._longest, _LOOKED_AT))

    def end(self) -> Iterator[bytes]:
        """Those that end with the file."""
        yield from self._ended(len(self._held))
        if self._held:
            yield bytes(self._held)
        self._held.clear()
        self._looked = 0

    def _ended(self, upto: int) -> Iterator[bytes]:
        """The documents whose end begins before a place in what is held."""
        while (found := self._next(upto)) is not None:
            end, begin = found
            if end:
                yield bytes(self._held[:end])
            del self._held[:begin]
            self._looked = 0
            upto -= begin
        self._looked = max(self._looked, upto - 1, 0)

    def _next(self, upto: int) -> tuple[int, int] | None:
        """Where in what is held the first document ends, and where the next one begins."""
        special = self._special.search(self._held, self._looked) if self._special else None
        if special is not None and special.start() >= upto:
            special = None
        place = _PLACE.search(self._held, max(self._looked, self._stretch - 1))
        if place is not None and place.end() <= (special.start() if special else upto):
            return place.end(), place.end()
        return special.span() if special else None
