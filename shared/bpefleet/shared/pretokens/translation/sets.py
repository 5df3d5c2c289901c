r"""Classes and sets of a user's regex, in the syntax of another engine.

What `regex` means by them is spelled out wherever the engines differ: which characters `\w` and
`[:alpha:]` hold, and that `[a&&b]` is a set of two letters and an ampersand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bpefleet.shared.pretokens.translation.characters import folded, member, read_character
from bpefleet.shared.pretokens.translation.cursor import ForeignError

if TYPE_CHECKING:
    from bpefleet.shared.pretokens.translation.cursor import Cursor
    from bpefleet.shared.pretokens.translation.dialects import Dialect

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
        return folded(start, start, fold=fold)
    cursor.take()
    end = _item(cursor, dialect, fold=fold)
    if len(end) > 1:
        return folded(start, start, fold=fold) + member("-") + end
    return folded(start, end, fold=fold)


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
