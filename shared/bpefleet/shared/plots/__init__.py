"""What the page and the report draw their plots with: uPlot, and how this project uses it."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

FILES: Final = Path(__file__).parent / "files"
"""What a browser may have."""

_LIBRARY: Final = "uplot/uPlot.iife.min.js"
_STYLE: Final = "uplot/uPlot.min.css"
_DRAWING: Final = ("plot.js", "report.js")
"""One module, in two files: the page has the first only."""


def report_scripts() -> tuple[str, str]:
    """What a report runs to draw its charts: the library, and a module that needs it."""
    return _text(_LIBRARY), "".join(map(_text, _DRAWING))


def style() -> str:
    """The library's."""
    return _text(_STYLE)


def digest(text: str) -> str:
    """What a content security policy calls an element of a page with this text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _text(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")
