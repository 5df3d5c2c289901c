"""Writes a report as Markdown: to be rendered, and to be read as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.reports.document import Part

_MARKS: Final = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|$)           # what a backslash stands before, it would take for a mark
    | [`*\[|~$]                         # code, emphasis, links, cells, strikes, formulas
    | (?<![^\W_])_ | _(?![^\W_])        # emphasis; within a word it is a letter
    | (?<=www)(?=\.)                    # bare addresses; those of mail no spelling keeps from it
    | :(?=//)
    | (?<=\s)\#+$ | ^(?:[-+=]|\#{1,6})(?=\s|$) | ^-(?=-) | ^=(?==) # lists, headings, rules
    | ^\d+(?=[.)](?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What would act in GitHub's Markdown, each to follow a backslash; a list's number comes before it.
Nothing else has one: a report is read as it is, too."""

_ENTITIES: Final = {"<": "&lt;", ">": "&gt;"}
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")


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


def _marked(found: re.Match[str]) -> str:
    mark = found[0]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def _escaped(text: str) -> str:
    safe = _MARKS.sub(_marked, one_line(text).strip())
    safe = _ENTITY.sub("&amp;", safe)
    for mark, entity in _ENTITIES.items():
        safe = safe.replace(mark, entity)
    return safe
