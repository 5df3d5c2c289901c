"""The charts of a report."""

from __future__ import annotations

import re

import pytest

from bpefleet.producer.reports.document import Chart
from bpefleet.producer.reports.svg import svg, ticks


@pytest.mark.parametrize("values", [(), (0.0, 0.0), (1e-9,), (7.0, 5e9), (3.0,) * 100])
def test_any_values_make_a_chart(values: tuple[float, ...]) -> None:
    labels = tuple(map(str, range(len(values))))
    for line in (False, True):
        drawn = svg(Chart("c", labels, values, "u", line=line), "c")
        assert "nan" not in drawn
        numbers = re.findall(r' (?:y|cy|height)="([^"]*)"', drawn)
        assert all(0 <= float(number) <= 260 for number in numbers)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (12_500, ["0", "2,500", "5,000", "7,500", "10,000", "12,500"]),
        (4.4, ["0", "1", "2", "3", "4", "5"]),
        (0.9, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, ["0", "1"]),
    ],
)
def test_axes_have_round_numbers(most: float, words: list[str]) -> None:
    assert [word for _, word in ticks(most, 5)] == words


def test_labels_of_the_axes_are_inside_the_picture() -> None:
    values = (12_500_000.0, 3.0)
    drawn = svg(Chart("c", ("a", "b"), values, "u"), "c")
    ends = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">([\d,]+)<', drawn)
    assert ends[-1][1] == "12,500,000"
    assert all(float(x) >= 6.7 * len(words) for x, words in ends)  # digits are as wide as that
    assert "e+" not in drawn


def test_an_axis_of_seconds_has_round_ones() -> None:
    chart = Chart("c", ("0.74", "1.48", "2.23"), (1, 2, 3), "u", line=True,
                  positions=(0.37, 1.11, 1.86), end=2.23)  # fmt: skip
    drawn = svg(chart, "c")
    labels = re.findall(r'text-anchor="middle">([^<]*)<', drawn)
    assert labels == ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50", "1.75", "2.00"]
    xs = [float(x) for x in re.findall(r'cx="([\d.]+)"', drawn)]
    assert xs == sorted(xs)
