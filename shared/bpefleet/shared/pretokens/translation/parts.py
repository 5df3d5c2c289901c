"""The parts of a regex that is being translated, and what must be known of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bpefleet.shared.pretokens.translation.cursor import ForeignError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.pretokens.translation.cursor import Cursor
    from bpefleet.shared.pretokens.translation.dialects import Dialect

_QUANTIFIER: Final = re.compile(r"[*+?]|\{([0-9]+)\}|\{([0-9]*),([0-9]*)\}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the regex, translated.

    Attributes:
        text: In the engine's syntax; what a quantifier may follow, if it is a part to repeat.
        nullable: Whether it may take no character.
        width: The number of characters that it takes, if that is always the same.
        plain: Whether a look-behind may hold it: it neither looks around nor keeps what it took.
        folds: Whether what it begins with may be a letter in any case.
        negates: Whether what it begins with may be all but certain characters.
    """

    text: str
    nullable: bool = False
    width: int | None = 1
    plain: bool = True
    folds: bool = False
    negates: bool = False


def place(text: str) -> Part:
    """A part that takes no character, such as the end of a line."""
    return Part(text, nullable=True, width=0, plain=False)


def beginning(parts: Sequence[Part], whole: Part) -> Part:
    """`whole`, which may begin with each of `parts`.

    Raises:
        ForeignError: With any of them `regex` may pass over characters that it should match: it
            then looks for all that may come first in any case, the negated sets too.
    """
    whole = replace(
        whole,
        folds=any(part.folds for part in parts),
        negates=any(part.negates for part in parts),
    )
    if whole.folds and whole.negates:
        raise ForeignError(r"a letter under (?i) where a negated class ([^a], \W) may come, too")
    return whole


@dataclass(frozen=True, slots=True)
class Quantifier:
    """How often a part is repeated.

    Attributes:
        written: As the regex has it.
        least: Times at least.
        most: Times at the most; None for any.
        kind: `?` where it takes as few as it can, `+` where it keeps what it took.
    """

    written: str
    least: int
    most: int | None
    kind: str

    @property
    def bounds(self) -> str:
        """The numbers, in the form that all engines read alike."""
        if not self.written.startswith("{"):
            return self.written[0]
        upper = "" if self.least == self.most else f",{'' if self.most is None else self.most}"
        return f"{{{self.least}{upper}}}"


def read_quantifier(cursor: Cursor) -> Quantifier | None:
    """The quantifier that comes next, if one does."""
    start = cursor.at
    found = cursor.match(_QUANTIFIER)
    if not found:
        return None
    kind = cursor.took("?", "+")
    return Quantifier(cursor.since(start), *_bounds(found), kind)


def _bounds(quantifier: re.Match[str]) -> tuple[int, int | None]:
    exactly, least, most = quantifier.groups()
    match quantifier[0]:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
    if exactly:
        return int(exactly), int(exactly)
    return int(least or 0), int(most) if most else None


def repeated(part: Part, quantifier: Quantifier, dialect: Dialect) -> Part:
    """A part with its quantifier.

    Raises:
        ForeignError: The part may take no character.
    """
    if part.nullable:
        raise ForeignError(f"{quantifier.written} behind what may take no character")
    bounds, kind = quantifier.bounds, quantifier.kind
    is_exact = quantifier.least == quantifier.most
    if is_exact and kind == "?":
        kind = ""  # there is nothing to choose; and to Oniguruma `{2}?` is an optional `{2}`
    text = part.text + bounds + kind
    if kind == "+" and bounds.startswith("{") and not dialect.counts_possessively:
        text = f"(?>{part.text}{bounds})"
    return replace(
        part,
        text=text,
        nullable=quantifier.least == 0,
        width=part.width * quantifier.least if part.width is not None and is_exact else None,
        plain=part.plain and kind != "+",
    )
