"""Writes a report by its templates: as Markdown, and as one page that loads nothing.

No text can act: each environment escapes whatever a template puts in, a filter forgotten or not.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bpefleet.producer.reports.markdown import escaped
from bpefleet.shared import plots
from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.reports.document import Chart, Report

_TEMPLATES: Final = Path(__file__).parent / "templates"


def page(report: Report) -> str:
    """The report as a page, which runs the scripts in it that draw its charts and no others."""
    scripts = plots.report_scripts()
    styles = [plots.style() + (_TEMPLATES / "report.css").read_text(encoding="utf-8")]
    return (
        _templates(_one_line)
        .get_template("report.html.j2")
        .render(
            report=report,
            charts=[_shown(chart) for chart in report.charts],
            scripts=[Markup(text) for text in scripts],  # noqa: S704  files of ours
            styles=[Markup(text) for text in styles],  # noqa: S704  likewise
            script_digests=" ".join(map(plots.digest, scripts)),
            style_digests=" ".join(map(plots.digest, styles)),
        )
    )


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
    return Markup(escaped(str(value)))  # noqa: S704  escaped, for what it is


def _shown(chart: Chart) -> dict[str, object]:
    """What its script draws; `tojson` escapes markup, and the script enters texts as texts."""
    return {**asdict(chart), "labels": [line(label) for label in chart.labels]}
