"""Where in a text each id comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bpefleet.shared.tokenizer.encoding import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

Span = tuple[int, int]


class Located(NamedTuple):
    """Ids with their places in a text.

    Attributes:
        ids: The ids.
        bytes: For each where it begins and ends in the text's UTF-8.
        characters: For each where the characters that it has a part of begin and end: `text[a:b]`.
            A character that several ids divide is in the span of each.
    """

    ids: list[int]
    bytes: list[Span]
    characters: list[Span]

    def surrounded(self, before: Sequence[int], behind: Sequence[int]) -> Located:
        """With ids before and behind them that come from nowhere in the text."""

        def with_none(spans: list[Span]) -> list[Span]:
            return [(0, 0)] * len(before) + spans + [(0, 0)] * len(behind)

        ids = [*before, *self.ids, *behind]
        return Located(ids, with_none(self.bytes), with_none(self.characters))


def locate(text: str, found: list[tuple[int, int, int]]) -> Located:
    """Ids with the bytes that they stand for, and the characters of these."""
    ids, spans = [number for number, *_ in found], [(start, end) for _, start, end in found]
    if text.isascii():
        return Located(ids, spans, spans)
    # For each byte the number of its character.
    numbers: list[int] = []
    for number, character in enumerate(utf8(text).decode()):
        numbers += [number] * len(character.encode())
    characters = [(numbers[start], numbers[end - 1] + 1) for start, end in spans]
    return Located(ids, spans, characters)
