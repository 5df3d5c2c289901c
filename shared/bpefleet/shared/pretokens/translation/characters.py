"""Single characters of a user's regex, in the syntax of another engine.

Which others `regex` takes for a letter when it ignores case is spelled out: engines differ there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bpefleet.shared.pretokens.translation.cursor import ForeignError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.shared.pretokens.translation.cursor import Cursor

_CHARACTERS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_OTHER_CASES: Final = {"k": "\u212a", "K": "\u212a", "s": "\u017f", "S": "\u017f"} | {
    "i": "\u0130",
    "I": "\u0131",
}
"""Beyond ASCII, what `regex` (version 0) takes for a letter when it ignores case."""


def read_character(cursor: Cursor) -> str:
    r"""The character that an escape stands for, read from behind its `\`."""
    start = cursor.at - 1
    if found := cursor.match(_HEX):
        return chr(int(next(filter(None, found.groups())), 16))
    char = cursor.take()
    if char in _CHARACTERS:
        return _CHARACTERS[char]
    if char.isascii() and char.isalnum():
        raise ForeignError(cursor.since(start))
    return char


def spelled(char: str, *, fold: bool) -> str:
    """A character outside a set."""
    variants = list(_cases(char)) if fold else [char]
    if len(variants) > 1:
        return f"[{''.join(map(member, variants))}]"
    return _escaped(char, ".^$|()[]{}*+?\\")


def folded(start: str, end: str, *, fold: bool) -> str:
    """A range of characters; under `(?i)` with all that it stands for then."""
    text = member(start) if start == end else f"{member(start)}-{member(end)}"
    if fold:
        span = map(chr, range(ord(start), ord(end) + 1))
        others = {other for char in span for other in _cases(char)}
        text += "".join(member(char) for char in sorted(others) if not start <= char <= end)
    return text


def member(char: str) -> str:
    """A character within a set."""
    return _escaped(char, "[]\\^-&~")


def _cases(char: str) -> Iterator[str]:
    """What `regex` takes for a character when it ignores case.

    Raises:
        ForeignError: A letter beyond ASCII that has several.
    """
    yield char
    if char.isascii():
        if char.isalpha():
            yield char.swapcase()
        if char in _OTHER_CASES:
            yield _OTHER_CASES[char]
    elif {char.lower(), char.upper(), char.title(), char.casefold()} != {char}:
        raise ForeignError(f"{char} under (?i)")


def _escaped(char: str, marks: str) -> str:
    if char in marks:
        return "\\" + char
    if char in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[char]
    return rf"\x{ord(char):02X}" if ord(char) < 0x20 or char == "\x7f" else char  # noqa: PLR2004
