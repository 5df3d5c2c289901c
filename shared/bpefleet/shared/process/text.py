"""Makes text of unknown origin safe to show: file names, error texts, names from Redis."""

from __future__ import annotations

import html
import re
from typing import Any, Final

import orjson

_REPEATED: Final = 8
"""The most times that a repeated character is shown; above it, once with its number."""


def printable(text: str) -> str:
    r"""`text` with control and format characters spelled out, as `\x1b` or `\u202e`; lines stay."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


def visible(text: str, *, whole: bool = True) -> str:
    """A token's text with `␣` for spaces. If it repeats one character, that is shown only once.

    Args:
        text: The token.
        whole: Whether the text is the whole token: in a part, the number of repetitions is unknown.
    """
    times = len(text) if whole and len(text) > _REPEATED and len(set(text)) == 1 else 1
    shown = (text[0] if times > 1 else text).replace(" ", "␣")
    return f"{shown} × {times}" if times > 1 else shown


def paragraph(text: str) -> str:
    """`text` made printable, its further lines indented, so that none looks like a new record."""
    return printable(text).replace("\n", "\n    ")


def escaped(text: str) -> str:
    """`text` as one line, with markup escaped: harmless in a terminal and in a page."""
    return html.escape(line(text))


def line(text: str) -> str:
    r"""`text` as one line, with control and format characters spelled out."""
    return printable(text).replace("\n", r"\n")


def json_text(value: Any) -> str:
    r"""`value` as indented JSON in which control and format characters are escaped, as `\u202e`."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return re.sub(r"[^\n -~]", lambda char: _json_escape(char[0]), text)


def _json_escape(char: str) -> str:
    if char.isprintable():
        return char
    units = char.encode("utf-16-be")
    return "".join(rf"\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
