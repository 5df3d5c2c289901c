"""Text of unknown origin, made safe to show: file names, error texts, names from Redis."""

from __future__ import annotations

import html
import re
from typing import Any, Final

import orjson

_REPEATED: Final = 8
"""Times that a character is shown; beyond that once, and how often it comes."""


def printable(text: str) -> str:
    r"""`text` with control and format characters spelled out, as `\x1b` or `\u202e`; lines stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


def visible(text: str, *, whole: bool = True) -> str:
    """A token's text with its spaces as `␣`, and one character many times over but once.

    Args:
        text: The token.
        whole: Whether it is all of it: of a part there is no telling how often a character comes.
    """
    times = len(text) if whole and len(text) > _REPEATED and len(set(text)) == 1 else 1
    shown = (text[0] if times > 1 else text).replace(" ", "␣")
    return f"{shown} × {times}" if times > 1 else shown


def paragraph(text: str) -> str:
    """`text`, printable, its further lines indented: none of them can pass for one of its own."""
    return printable(text).replace("\n", "\n    ")


def escaped(text: str) -> str:
    """`text` as one line that can act neither in a terminal nor, its markup escaped, in a page."""
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
