"""Draws a report's charts as inline SVG, in the page's own colours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from bpefleet.shared.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.report_document import Chart

_WIDTH: Final = 720
_HEIGHT: Final = 260
_LEFT: Final = 64
_RIGHT: Final = 16
_TOP: Final = 24
_BOTTOM: Final = 40
_MOST_LABELS: Final = 16
_TICKS: Final = 5
_STEPS: Final = (1, 2, 2.5, 5, 10)


def svg(chart: Chart, name: str) -> str:
    """A chart; `name` is an id that the page has no second time."""
    top = _ceiling(max(chart.values, default=0.0))
    body = "".join([*_grid(top, chart.unit), *_labels(chart), *_marks(chart, top)])
    summary = ", ".join(
        f"{label}: {value:,.6g}" for label, value in zip(chart.labels, chart.values, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escaped(chart.caption)}</title>'
        f'<desc id="{name}-d">{escaped(f"{chart.unit}. {summary}")}</desc>{body}</svg>'
    )


def _ceiling(most: float) -> float:
    """The end of the y-axis: a round number that is not below `most`."""
    if most <= 0:
        return 1.0
    step = most / _TICKS
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * s for s in _STEPS if power * s >= step * (1 - 1e-9)) * _TICKS


def _grid(top: float, unit: str) -> Iterator[str]:
    for i in range(_TICKS + 1):
        y = _y(top * i / _TICKS, top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
        yield f"{top * i / _TICKS:,.4g}</text>"
    yield f'<text x="{_LEFT}" y="{_TOP - 12}" text-anchor="start">{escaped(unit)}</text>'


def _labels(chart: Chart) -> Iterator[str]:
    every = math.ceil(len(chart.labels) / _MOST_LABELS)
    for i, label in enumerate(chart.labels):
        if i % every == 0:
            x = _x(i, len(chart.labels))
            yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            yield f"{escaped(label)}</text>"


def _marks(chart: Chart, top: float) -> Iterator[str]:
    points = [(_x(i, len(chart.values)), _y(v, top)) for i, v in enumerate(chart.values)]
    if chart.line:
        yield f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
    width = 0.7 * (_WIDTH - _LEFT - _RIGHT) / max(1, len(points))
    for (x, y), label, value in zip(points, chart.labels, chart.values, strict=True):
        tip = f"<title>{escaped(f'{label}: {value:,.6g} {chart.unit}')}</title>"
        if chart.line:
            yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4">{tip}</circle>'
        else:
            height = _HEIGHT - _BOTTOM - y
            yield f'<rect class="mark" x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" '
            yield f'height="{height:.1f}">{tip}</rect>'


def _x(i: int, count: int) -> float:
    return _LEFT + (i + 0.5) * (_WIDTH - _LEFT - _RIGHT) / max(1, count)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / top
