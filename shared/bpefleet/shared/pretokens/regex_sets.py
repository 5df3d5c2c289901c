r"""Characters, classes and sets of a user's regex, in the syntax of another engine.

What `regex` means by them is spelled out wherever the engines differ: which characters a letter
stands for under `(?i)`, what `\w` and `[:alpha:]` hold, that `[a&&b]` is a set of two letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class ForeignError(ValueError):
    """The engine may read a part of the regex otherwise; the text names the part."""


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How an engine spells what `regex` means.

    Attributes:
        dotall: `.` where it is any character.
        word: `\w`, as members of a set.
        not_word: `\W`, likewise.
        boundary: `\b`.
        no_boundary: `\B`.
        counts_possessively: Whether `{1,3}+` keeps what it took.
    """

    dotall: str
    word: str
    not_word: str
    boundary: str
    no_boundary: str
    counts_possessively: bool


class Cursor:
    """A place in a regex."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    @property
    def ahead(self) -> str:
        """The next character; empty at the end."""
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        """Pass over a character."""
        self.at += 1
        return self.pattern[self.at - 1]

    def took(self, *texts: str) -> str:
        """The first of `texts` that comes next, passed over; empty if none does."""
        for text in texts:
            if self.pattern.startswith(text, self.at):
                self.at += len(text)
                return text
        return ""

    def match(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """A match of `what` that comes next, passed over."""
        found = what.match(self.pattern, self.at)
        if found:
            self.at = found.end()
        return found

    def since(self, start: int) -> str:
        """What was passed over since a place."""
        return self.pattern[start : self.at]


_CHARACTERS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_OTHER_CASES: Final = {"k": "\u212a", "K": "\u212a", "s": "\u017f", "S": "\u017f"} | {
    "i": "\u0130",
    "I": "\u0131",
}
"""Beyond ASCII, what `regex` (version 0) takes for a letter when it ignores case."""

_NAMES: Final = """
L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn
Alphabetic Uppercase Lowercase
Arabic Armenian Bengali Bopomofo Common Cyrillic Devanagari Ethiopic Georgian Greek Gujarati
Gurmukhi Han Hangul Hebrew Hiragana Inherited Kannada Katakana Khmer Lao Latin Malayalam Mongolian
Myanmar Oriya Sinhala Tamil Telugu Thai Tibetan
"""
_LONG: Final = {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "mark": "M",
    "number": "N",
    "decimalnumber": "Nd",
    "punctuation": "P",
    "symbol": "S",
    "separator": "Z",
}
PROPERTIES: Final = {name.lower(): name for name in _NAMES.split()} | _LONG
"""The properties that all engines know by the same name, by what people may call them."""
_CASED: Final = frozenset({"Lu", "Ll", "Lt", "Alphabetic", "Uppercase", "Lowercase"})
"""Those that hold more when case is ignored."""

_PROPERTY: Final = re.compile(
    r"([A-Za-z])|\{(\^?)(?:(?:script|sc)=)?([A-Za-z_ -]+)\}", re.IGNORECASE
)
_POSIX_NAME: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_POSIX: Final = {
    "alpha": r"\p{Alphabetic}",
    "upper": r"\p{Uppercase}",
    "lower": r"\p{Lowercase}",
    "cntrl": r"\p{Cc}",
    "space": r"\s",
    "digit": "0-9",
    "xdigit": "0-9A-Fa-f",
    "alnum": r"\p{Alphabetic}0-9",
}


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


def read_class(cursor: Cursor, dialect: Dialect, *, fold: bool) -> str:
    r"""The class that an escape stands for, as members of a set, or empty if it is none."""
    start = cursor.at - 1
    match cursor.took("w", "W", "s", "S", "d", "D", "p", "P"):
        case "":
            return ""
        case "w":
            return dialect.word
        case "W":
            return dialect.not_word
        case "p" | "P" as sign:
            found = cursor.match(_PROPERTY)
            called = (found[1] or found[3]) if found else ""
            name = PROPERTIES.get(re.sub(r"[_ -]", "", called).lower())
            if found is None or name is None or (fold and name in _CASED):
                raise ForeignError(cursor.since(start) + ("" if found else cursor.ahead))
            positive = (sign == "p") != bool(found[2])
            return rf"\{'p' if positive else 'P'}{{{name}}}"
        case plain:
            return "\\" + plain


def spelled(char: str, *, fold: bool) -> str:
    """A character outside a set."""
    variants = list(_cases(char)) if fold else [char]
    if len(variants) > 1:
        return f"[{''.join(map(_member, variants))}]"
    return _escaped(char, ".^$|()[]{}*+?\\")


def read_set(cursor: Cursor, dialect: Dialect, *, fold: bool) -> str:
    """A set, read from behind its `[`."""
    begin = cursor.at - 1
    negated, members = cursor.took("^"), [_range(cursor, dialect, fold=fold)]
    while cursor.ahead != "]":
        members.append(_range(cursor, dialect, fold=fold))
    cursor.take()
    if negated and any(_opposite(member) in members for member in members):
        # Nothing is left, and `regex` takes anything for it.
        raise ForeignError(cursor.since(begin))
    return f"[{negated}{''.join(members)}]"


def _range(cursor: Cursor, dialect: Dialect, *, fold: bool) -> str:
    """A character, class or range of a set; or a class with a character and `-` before it."""
    start = _item(cursor, dialect, fold=fold)
    if len(start) > 1:
        return start
    if cursor.ahead != "-" or cursor.pattern.startswith("-]", cursor.at):
        return _folded(start, start, fold=fold)
    cursor.take()
    end = _item(cursor, dialect, fold=fold)
    if len(end) > 1:
        return _folded(start, start, fold=fold) + _member("-") + end
    return _folded(start, end, fold=fold)


def _opposite(member: str) -> str:
    """A class's complement, as it is spelled here; nothing, if it is none or is not spelled so."""
    if member.startswith(("\\p{", "\\P{")) and member.index("}") == len(member) - 1:
        return member[0] + member[1].swapcase() + member[2:]
    if member in {r"\s", r"\S", r"\d", r"\D", r"\w", r"\W"}:
        return member.swapcase()
    return f"[^{member}]"


def _item(cursor: Cursor, dialect: Dialect, *, fold: bool) -> str:
    """A character of a set as it is; or a class, which is longer, as other engines spell it."""
    start = cursor.at
    if cursor.took("\\"):
        found = read_class(cursor, dialect, fold=fold)
        if not found:
            return "\b" if cursor.took("b") else read_character(cursor)
    elif cursor.pattern.startswith("[:", start):
        found = _posix(cursor, dialect)
    else:
        return cursor.take()
    if fold:
        raise ForeignError(f"{cursor.since(start)} in a set under (?i)")
    return found


def _posix(cursor: Cursor, dialect: Dialect) -> str:
    start = cursor.at
    found = cursor.match(_POSIX_NAME)
    text = (_POSIX | {"word": dialect.word}).get(found[2], "") if found else ""
    if not found or not text:
        raise ForeignError(f"{cursor.since(start) or '[:'} in a set")
    return _opposite(text) if found[1] else text


def _folded(start: str, end: str, *, fold: bool) -> str:
    """A range of characters; under `(?i)` with all that it stands for then."""
    text = _member(start) if start == end else f"{_member(start)}-{_member(end)}"
    if fold:
        span = map(chr, range(ord(start), ord(end) + 1))
        others = {other for char in span for other in _cases(char)}
        text += "".join(_member(char) for char in sorted(others) if not start <= char <= end)
    return text


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


def _member(char: str) -> str:
    return _escaped(char, "[]\\^-&~")


def _escaped(char: str, marks: str) -> str:
    if char in marks:
        return "\\" + char
    if char in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[char]
    return rf"\x{ord(char):02X}" if ord(char) < 0x20 or char == "\x7f" else char  # noqa: PLR2004
