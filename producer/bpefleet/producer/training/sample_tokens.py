"""A few tokens that show people what the merging made: the latest and the longest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.shared.wire.messages import Message, Natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bpefleet.shared.wire.shown.status import Examples, Token

Cut = tuple[str, Natural]
"""The beginning of a token, in hex, and how many bytes it has."""

_SHOWN: Final = 8
_CANDIDATES: Final = 64
_LONGEST_TEXT: Final = 60
"""Characters of a token's text; none has more than four bytes."""


class Picked(Message, frozen=True):
    """Some tokens: the latest, and the longest, of which those made first come first."""

    latest: tuple[Cut, ...]
    longest: tuple[Cut, ...]


class Shown:
    """Keeps the latest and the longest of the tokens that it sees.

    For the trainer, whose start the imports of `examples` would slow down.
    """

    def __init__(self) -> None:
        self._latest: list[bytes] = []
        self._longest: list[bytes] = []
        self._enough = 0

    def see(self, tokens: Sequence[bytes]) -> None:
        """Take note of tokens in the order of their making, none of which was seen before."""
        self._latest = [*self._latest, *tokens[-_SHOWN:]][-_SHOWN:]
        # `heapq.nlargest` takes four times longer, 14 ms for 100,000 tokens.
        for token in tokens:
            if len(token) > self._enough:
                self._longest.append(token)
                if len(self._longest) == _CANDIDATES:
                    self._longest = self._sorted()
                    self._enough = len(self._longest[-1])

    def pick(self) -> Picked:
        """The latest ones and the longest."""
        return Picked(
            latest=tuple(map(_cut, reversed(self._latest))),
            longest=tuple(map(_cut, self._sorted())),
        )

    def _sorted(self) -> list[bytes]:
        return sorted(self._longest, key=len, reverse=True)[:_SHOWN]


def examples(picked: Picked) -> Examples:
    """What `Shown` picked, for people."""
    from bpefleet.shared.wire.shown.status import Examples  # noqa: PLC0415  see `Shown`

    return Examples(tuple(_tokens(picked.latest)), tuple(_tokens(picked.longest)))


def _cut(token: bytes) -> Cut:
    return token[: 4 * _LONGEST_TEXT + 4].hex(), len(token)


def _tokens(cut: Iterable[Cut]) -> Iterable[Token]:
    from bpefleet.shared.process.text import line, visible  # noqa: PLC0415
    from bpefleet.shared.wire.shown.status import Token  # noqa: PLC0415  see `Shown`

    for piece, size in cut:
        token = bytes.fromhex(piece)
        text = line(visible(token.decode("utf-8", "backslashreplace"), whole=len(token) == size))
        yield Token(f"{text[:_LONGEST_TEXT]}…" if len(text) > _LONGEST_TEXT else text, size)
