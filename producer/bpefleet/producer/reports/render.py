"""Writes a report by its templates: as Markdown, and as one page that loads nothing.

No text can act: each environment escapes whatever a template puts in, a filter forgotten or not.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bpefleet.producer.reports.svg import svg
from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.reports.document import Report

_TEMPLATES: Final = Path(__file__).parent / "templates"

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


def page(report: Report) -> str:
    """The report as a page."""
    return _templates(_one_line).get_template("report.html.j2").render(report=report, svg=_svg)


def markdown(report: Report) -> str:
    """The report as Markdown: to be rendered, and to be read as it is; tables stand for charts."""
    return _templates(_in_markdown).get_template("report.md.j2").render(report=report)


@cache
def _templates(prepared: Callable[[object], object]) -> Environment:
    """The templates, whose every expression is `prepared`, and then escaped if it is still text."""
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=prepared,
    )


def _one_line(value: object) -> object:
    """Text of unknown origin without control characters; markup of the template's own as it is."""
    return line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _in_markdown(value: object) -> Markup:
    safe = _MARKS.sub(_marked, line(str(value)).strip())
    safe = _ENTITY.sub("&amp;", safe)
    for mark, entity in _ENTITIES.items():
        safe = safe.replace(mark, entity)
    return Markup(safe)  # noqa: S704  escaped, for what it is


def _marked(found: re.Match[str]) -> str:
    mark = found[0]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def _svg(chart: object, name: str) -> Markup:
    return Markup(svg(chart, name))  # type: ignore[arg-type]  # noqa: S704
