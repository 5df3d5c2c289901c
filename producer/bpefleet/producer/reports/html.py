"""Writes a report as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table, one_line
from bpefleet.producer.reports.svg import svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.reports.document import Part

# The policy holds whatever got past the escaping: no script, no request.
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2128; --dim: #57606a; --paper: #ffffff;
  --rule: #d0d7de; --mark: #0b62c4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9da7b3; --paper: #0d1117; --rule: #3a434e; --mark: #6cb2ff; }
}
body { margin: 0 auto; padding: 1rem; max-width: 60rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin-top: 2.5rem; padding-top: .5rem; border-top: 1px solid var(--rule); }
p { max-width: 46rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
.wide:focus-visible { outline: 2px solid var(--mark); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--dim); padding-bottom: .25rem; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--rule); text-align: left;
  vertical-align: top; overflow-wrap: anywhere; min-width: 6rem; }
th.n, td.n { text-align: right; min-width: 2rem; overflow-wrap: normal; }
td.n { white-space: nowrap; }
figure { margin: 1rem 0; }
figcaption { color: var(--dim); }
svg { width: 100%; height: auto; max-width: 45rem; }
svg text { fill: var(--dim); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--rule); }
.mark { fill: var(--mark); }
.line { fill: none; stroke: var(--mark); stroke-width: 2; }
"""


def page(title: str, parts: Sequence[Part]) -> str:
    """The report as a page; `title` is that of the window."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(_blocks(parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _blocks(parts: Iterable[Part]) -> Iterator[str]:
    for number, part in enumerate(parts):
        match part:
            case Heading():
                yield f"<h{part.level}>{_escaped(part.text)}</h{part.level}>"
            case Paragraph():
                yield f"<p>{_escaped(part.text)}</p>"
            case Table():
                yield from _table(part)
            case Chart():
                caption = _escaped(part.caption)
                drawn = svg(part, f"chart-{number}")
                yield f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> Iterator[str]:
    # To be scrolled by keyboard, what is wider than the page must take the focus.
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{_escaped(table.caption)}">'
    yield f"<table><caption>{_escaped(table.caption)}</caption><thead><tr>"
    for i, name in enumerate(table.columns):
        yield f'<th scope="col"{_kind(table, i)}>{_escaped(name)}</th>'
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = (f"<td{_kind(table, i)}>{_isolated(cell)}</td>" for i, cell in enumerate(row))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _kind(table: Table, column: int) -> str:
    return ' class="n"' if column in table.numbers else ""


def _isolated(text: str) -> str:
    """A cell whose direction of writing is its own: tokens are of all scripts."""
    return _escaped(text) if text.isascii() else f"<bdi>{_escaped(text)}</bdi>"


def _escaped(text: str) -> str:
    return html.escape(one_line(text))
