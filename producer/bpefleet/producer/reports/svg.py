"""Draws a report's charts as inline SVG, in the page's own colours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from bpefleet.shared.process.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.reports.document import Chart

_WIDTH: Final = 720
_HEIGHT: Final = 260
_LEAST_LEFT: Final = 40
_CHARACTER: Final = 7.5
"""Pixels of a label's character at the most."""

_RIGHT: Final = 24
_TOP: Final = 24
_BOTTOM: Final = 40
_MOST_LABELS: Final = 16
_TICKS: Final = 5
_X_TICKS: Final = 10
_STEPS: Final = (1, 2, 2.5, 5, 10)
_MOST_DIGITS: Final = 6
_MILLION: Final = 1e6


def svg(chart: Chart, name: str) -> str:
    """A chart; `name` is an id that the page has no second time."""
    summary = ", ".join(
        f"{label}: {_number(value)}"
        for label, value in zip(chart.labels, chart.values, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escaped(chart.caption)}</title>'
        f'<desc id="{name}-d">{escaped(f"{chart.unit}. {summary}")}</desc>'
        f"{''.join(_Drawing(chart).parts())}</svg>"
    )


def ticks(most: float, count: int) -> list[tuple[float, str]]:
    """Round numbers from 0 up to at least `most`, evenly spaced, about `count`; each in words."""
    step = _step(most, count)
    digits = next((d for d in range(_MOST_DIGITS) if math.isclose(round(step, d), step)), None)
    numbers = [i * step for i in range(max(1, math.ceil(most / step - 1e-9)) + 1)]
    return [(n, f"{n:.3g}" if digits is None else f"{n:,.{digits}f}") for n in numbers]


def _step(most: float, count: int) -> float:
    if most <= 0:
        return 1.0
    step = most / count
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * s for s in _STEPS if power * s >= step * (1 - 1e-9))


class _Drawing:
    """A chart's elements."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._ticks = ticks(max(chart.values, default=0.0), _TICKS)
        self._top = self._ticks[-1][0]
        widest = max(len(words) for _, words in self._ticks)
        self._left = max(_LEAST_LEFT, 16 + _CHARACTER * widest)

    def parts(self) -> Iterator[str]:
        yield from self._grid()
        yield from self._axis() if self._chart.positions else self._labels()
        yield from self._marks()

    def _grid(self) -> Iterator[str]:
        left = self._left
        for value, words in self._ticks:
            y = self._y(value)
            yield f'<line class="grid" x1="{left:.1f}" x2="{_WIDTH - _RIGHT}" '
            yield f'y1="{y:.1f}" y2="{y:.1f}"/>'
            yield _text(left - 8, y + 4, words, "end")
        yield _text(left, _TOP - 12, self._chart.unit, "start")

    def _labels(self) -> Iterator[str]:
        labels = self._chart.labels
        every = math.ceil(len(labels) / _MOST_LABELS)
        for i, label in enumerate(labels):
            if i % every == 0:
                yield _text(self._x(i), _HEIGHT - _BOTTOM + 18, label, "middle")

    def _axis(self) -> Iterator[str]:
        for value, words in ticks(self._chart.end, _X_TICKS):
            if value <= self._chart.end * (1 + 1e-9):
                yield _text(self._at(value), _HEIGHT - _BOTTOM + 18, words, "middle")

    def _marks(self) -> Iterator[str]:
        chart = self._chart
        points = [(self._x(i), self._y(value)) for i, value in enumerate(chart.values)]
        if chart.line:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield f'<polyline class="line" points="{joined}"/>'
        width = 0.7 * self._room / max(1, len(points))
        for (x, y), label, value in zip(points, chart.labels, chart.values, strict=True):
            tip = f"<title>{escaped(f'{label}: {_number(value)} {chart.unit}')}</title>"
            if chart.line:
                yield f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4">{tip}</circle>'
            else:
                height = _HEIGHT - _BOTTOM - y
                yield f'<rect class="mark" x="{x - width / 2:.1f}" y="{y:.1f}" '
                yield f'width="{width:.1f}" height="{height:.1f}">{tip}</rect>'

    @property
    def _room(self) -> float:
        return _WIDTH - self._left - _RIGHT

    def _x(self, i: int) -> float:
        if self._chart.positions:
            return self._at(self._chart.positions[i])
        return self._left + (i + 0.5) * self._room / max(1, len(self._chart.values))

    def _at(self, position: float) -> float:
        return self._left + self._room * position / (self._chart.end or 1.0)

    def _y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / self._top


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < _MILLION else f"{value:,.0f}"


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(words)}</text>'
