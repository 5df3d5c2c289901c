r"""A user's regex in the syntax of another engine: with the same meaning, or not at all.

Counting uses the `regex` package. To the engines behind tiktoken (fancy-regex) and Hugging Face
tokenizers (Oniguruma, in Ruby's dialect) some syntax means something else: `$` and `^`, `\w`,
`[[:alpha:]]`, `[a&&b]`, `(?i:i)`, `{1,3}+`. So a regex is read here part by part, and each part is
written in the way in which that engine expresses what `regex` means by it. Only syntax that tests
found to mean the same, on every character and in random regexes on random text, is translated; any
other is refused. What no spelling can change is that the engines' tables of Unicode are of other
versions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bpefleet.shared.pretokens.translation.characters import read_character, spelled
from bpefleet.shared.pretokens.translation.cursor import Cursor, ForeignError
from bpefleet.shared.pretokens.translation.parts import (
    Part,
    beginning,
    place,
    read_quantifier,
    repeated,
)
from bpefleet.shared.pretokens.translation.sets import read_class, read_set

if TYPE_CHECKING:
    from bpefleet.shared.pretokens.translation.dialects import Dialect

_GLOBAL_FLAGS: Final = re.compile(r"\(\?([ims]+)\)")
_SCOPED_FLAGS: Final = re.compile(r"\?([ims]*)(?:-([ims]+))?:")
_NAME: Final = re.compile(r"\?P?<[A-Za-z_]\w*>", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags in force: ignore case, `^` and `$` at lines, `.` for newlines too."""

    i: bool = False
    m: bool = False
    s: bool = False


@lru_cache(maxsize=64)
def translated(pattern: str, dialect: Dialect) -> str:
    """A regex that `regex` compiles, in an engine's syntax.

    Raises:
        ForeignError: It holds what the engine may read otherwise; the text names that.
    """
    if not pattern.isprintable() and any("\ud800" <= char <= "\udfff" for char in pattern):
        raise ForeignError("half of a surrogate pair")
    try:
        part = _Reader(Cursor(pattern), dialect).whole()
    except RecursionError:
        raise ForeignError("groups in groups, so deep") from None
    if part.nullable:
        raise ForeignError("an alternative that may take no character")
    return part.text


def form(pattern: str, dialect: Dialect) -> str:
    """The regex in an engine's syntax; empty if `translated` refuses it."""
    return "" if why_not(pattern, dialect) else translated(pattern, dialect)


def why_not(pattern: str, dialect: Dialect) -> str:
    """What in a regex the engine may read otherwise; empty if nothing."""
    try:
        translated(pattern, dialect)
    except ForeignError as error:
        return str(error)
    return ""


class _Reader:
    """Reads a regex by recursive descent: a method for each kind of part."""

    def __init__(self, cursor: Cursor, dialect: Dialect) -> None:
        self._cursor = cursor
        self._dialect = dialect

    def whole(self) -> Part:
        flags = self._cursor.match(_GLOBAL_FLAGS)
        return self._alternatives(
            replace(_Flags(), **dict.fromkeys(flags[1] if flags else "", True))
        )

    def _alternatives(self, flags: _Flags) -> Part:
        parts = [self._sequence(flags)]
        while self._cursor.took("|"):
            parts.append(self._sequence(flags))
        widths = {part.width for part in parts}
        return beginning(
            parts,
            Part(
                "|".join(part.text for part in parts),
                nullable=any(part.nullable for part in parts),
                width=widths.pop() if len(widths) == 1 else None,
                plain=all(part.plain for part in parts),
            ),
        )

    def _sequence(self, flags: _Flags) -> Part:
        parts = []
        while self._cursor.ahead not in ("", "|", ")"):
            parts.append(self._repeated(self._unit(flags)))
        widths = [part.width for part in parts if part.width is not None]
        taking = (at for at, part in enumerate(parts, start=1) if not part.nullable)
        return beginning(
            parts[: next(taking, len(parts))],
            Part(
                "".join(part.text for part in parts),
                nullable=all(part.nullable for part in parts),
                width=sum(widths) if len(widths) == len(parts) else None,
                plain=all(part.plain for part in parts),
            ),
        )

    def _repeated(self, part: Part) -> Part:
        quantifier = read_quantifier(self._cursor)
        return repeated(part, quantifier, self._dialect) if quantifier else part

    def _unit(self, flags: _Flags) -> Part:
        char = self._cursor.take()
        read = {"(": self._group, "[": self._set, "\\": self._escape}.get(char)
        if read:
            return read(flags)
        match char:
            case ".":
                return Part(self._dialect.dotall if flags.s else ".")
            case "^":
                return place(r"(?:\A|(?<=\n))" if flags.m else r"\A")
            case "$":
                return place(r"(?=\n|\z)" if flags.m else r"(?=\n?\z)")
            case "{" | "*" | "+" | "?":
                raise ForeignError(f"{char} that repeats nothing")
        return self._literal(char, flags)

    def _literal(self, char: str, flags: _Flags) -> Part:
        text = spelled(char, fold=flags.i)
        # What has no cases counts alone, as in `(?i:')|[^a]`, but not in `(?i:'s)|[^a]`.
        alone = self._cursor.ahead in ("", "|", ")", "*", "+", "?", "{")
        return Part(text, folds=flags.i and (alone or text.startswith("[")))

    def _set(self, flags: _Flags) -> Part:
        text = read_set(self._cursor, self._dialect, fold=flags.i)
        negates = text.startswith("[^") or any(mark in text for mark in (r"\P", r"\W", "[^"))
        return Part(text, folds=flags.i, negates=negates)

    def _escape(self, flags: _Flags) -> Part:
        match self._cursor.took("A", "Z", "z", "b", "B"):
            case "A":
                return place(r"\A")
            case "Z" | "z":
                return place(r"\z")
            case "b":
                return place(self._dialect.boundary)
            case "B":
                return place(self._dialect.no_boundary)
        members = read_class(self._cursor, self._dialect, fold=flags.i)
        if not members:
            return self._literal(read_character(self._cursor), flags)
        text = members if members.startswith("[") or _is_one(members) else f"[{members}]"
        return Part(text, negates=members.startswith((r"\P", r"\W", "[^")))

    def _group(self, flags: _Flags) -> Part:
        start = self._cursor.at - 1
        if look := self._cursor.took("?=", "?!", "?<=", "?<!"):
            return self._look(look, flags)
        atomic = self._cursor.took("?>")
        if not atomic and (found := self._cursor.match(_SCOPED_FLAGS)):
            flags = replace(flags, **dict.fromkeys(found[1], True))
            flags = replace(flags, **dict.fromkeys(found[2] or "", False))
        elif not atomic and not self._cursor.match(_NAME) and self._cursor.ahead == "?":
            raise ForeignError(self._cursor.pattern[start : self._cursor.at + 2])
        part = self._alternatives(flags)
        self._cursor.take()  # `)`
        text = f"({atomic or '?:'}{part.text})"
        return replace(part, text=text, plain=part.plain and not atomic)

    def _look(self, look: str, flags: _Flags) -> Part:
        part = self._alternatives(flags)
        self._cursor.take()  # `)`
        if look.startswith("?<") and not (part.plain and part.width):
            raise ForeignError(f"({look}…) around what has no fixed number of characters")
        return place(f"({look}{part.text})")


def _is_one(members: str) -> bool:
    r"""Whether a class is one escape, such as `\d` or `\p{L}`, which needs no brackets."""
    return members.count("\\") == 1
