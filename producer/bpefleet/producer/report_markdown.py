"""Writes a report as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.report_document import Chart, Heading, Paragraph, Table, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.report_document import Part

# Entities and not backslashes: they are text to readers of Markdown and of HTML alike.
_ESCAPES: Final = {ord(char): f"&#{ord(char)};" for char in "\\`*_{}[]<>#|~&$@"}
_LINKS: Final = (("://", "&#58;//"), ("www.", "www&#46;"))
"""What makes a link of a bare name in GitHub's Markdown, beside the at sign, and its spelling."""


def markdown(parts: Iterable[Part]) -> str:
    """The report as Markdown; charts are left out, since tables hold their numbers."""
    return "\n\n".join(block for part in parts if (block := _block(part))) + "\n"


def _block(part: Part) -> str:
    match part:
        case Heading():
            return f"{'#' * part.level} {_escaped(part.text)}"
        case Paragraph():
            return _escaped(part.text)
        case Table():
            return "\n".join(_table(part))
        case Chart():
            return ""


def _table(table: Table) -> Iterator[str]:
    yield f"{_escaped(table.caption)}\n"
    yield _row(table.columns)
    marks = ("--:" if i in table.numbers else "---" for i in range(len(table.columns)))
    yield f"| {' | '.join(marks)} |"
    for row in table.rows:
        yield _row(row)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    safe = one_line(text).translate(_ESCAPES)
    for mark, spelled in _LINKS:
        safe = safe.replace(mark, spelled)
    return safe
