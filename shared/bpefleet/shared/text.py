"""Text of unknown origin, made safe to show: file names, error texts, names from Redis."""

from __future__ import annotations

import html


def printable(text: str) -> str:
    r"""`text` with control and format characters spelled out, as `\x1b` or `\u202e`; lines stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


def escaped(text: str) -> str:
    """`text` as one line that can act neither in a terminal nor, its markup escaped, in a page."""
    return html.escape(line(text))


def line(text: str) -> str:
    r"""`text` as one line, with control and format characters spelled out."""
    return printable(text).replace("\n", r"\n")
