"""What part of the text a segment of a compressed file owns.

Frames end anywhere, amid a line or a character. So segments that begin and end with frames share
the text at these places by a rule that looks at nothing but the text from there on: a segment
begins at the first place behind its first byte where the text may be cut, and ends at the first
such place behind the first byte of the next segment. It reads on to find that. Both neighbours find
the same place, as they look at the same bytes; places too near to the frame's begin to be judged by
what follows it are left out by both.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.shared.corpus.files import Piece


class Finder(Protocol):
    """Finds the places where a text may be cut, as `bpefleet.kernel.Cutter` does."""

    @property
    def reach(self) -> int:
        """Bytes on both sides of a place that decide whether it is one."""

    def first(self, data: bytes, start: int, end: int) -> int | None:
        """The first place in `data[start:end]`, which has as many bytes around it."""


class _Lines:
    """Finds the places where lines begin."""

    reach = 1

    def first(self, data: bytes, start: int, end: int) -> int | None:
        newline = data.find(b"\n", start - 1, end - 1)
        return newline + 1 if newline >= 0 else None


LINES: Final = _Lines()


class Owned:
    """The text that a segment owns, in pieces.

    Attributes:
        begin: Where it begins in the text from the segment's first frame on; known once there is
            a piece.
    """

    begin = 0

    def __init__(self, own: Iterator[Piece], beyond: Iterator[Piece], finder: Finder) -> None:
        """Prepare to read.

        Args:
            own: The text of the segment's frames.
            beyond: That of the frames behind them.
            finder: Finds the places where text may be cut.
        """
        self._own = own
        self._beyond = beyond
        self._finder = finder
        self._skip = 0

    def pieces(self, *, first: bool, last: bool) -> Iterator[Piece]:
        """The pieces.

        Args:
            first: Whether the file begins with the segment.
            last: Whether it ends with it.
        """
        if not first:
            own = self._from_first_place()
            if own is None:
                return
            self._own = own
        yield from self._own
        if not last:
            yield from self._to_first_place()

    def _from_first_place(self) -> Iterator[Piece] | None:
        """What there is from the first place on; None if the next segment begins no later."""
        reach = self._finder.reach
        held, at, dropped = b"", reach, 0
        for piece in self._own:
            held += piece
            place = self._finder.first(held, at, max(at, len(held) - reach))
            if place is not None:
                self.begin = dropped + place
                return chain((held[place:],), self._own)
            at = max(at, len(held) - reach)
            drop = at - reach
            held, at, dropped = held[drop:], reach, dropped + drop
        ahead = _at_least(2 * reach, self._beyond)
        self._beyond = chain((ahead,), self._beyond)
        place = self._finder.first(held + ahead, at, min(len(held + ahead), len(held) + reach))
        if place is None:
            return None
        self.begin = dropped + place
        self._skip = max(0, place - len(held))
        return iter((held[place:],))

    def _to_first_place(self) -> Iterator[bytes]:
        """What there is beyond, up to the first place."""
        reach, skip = self._finder.reach, self._skip
        held, at = b"", reach
        for piece in self._beyond:
            held += piece
            place = self._finder.first(held, at, max(at, len(held) - reach))
            if place is not None:
                yield held[skip:place]
                return
            at = max(at, len(held) - reach)
            if (drop := at - reach) > skip:
                yield held[skip:drop]
                held, at, skip = held[drop:], reach, 0
        yield held[skip : self._finder.first(held, at, len(held))]


def _at_least(size: int, pieces: Iterator[Piece]) -> bytes:
    """The first pieces, until there are so many bytes; fewer if that is all."""
    found = b""
    while len(found) < size and (piece := next(pieces, b"")):
        found += piece
    return found
