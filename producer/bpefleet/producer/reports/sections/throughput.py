"""What a report says of throughput: over time, and by the number of workers at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table
from bpefleet.producer.reports.sections.rates import (
    LEAST_SHARE,
    PAUSE,
    over_time,
    scaling,
    stretches,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.reports.document import Part
    from bpefleet.producer.reports.sections.rates import Level
    from bpefleet.producer.store.history import Attempt

_MOST_LEVELS: Final = 64
_LONG: Final = 100.0
"""Seconds from which on whole ones will do."""


def throughput(ends: Iterable[Attempt]) -> Iterator[Part]:
    """The parts of the report.

    Args:
        ends: The attempts that counted a chunk.
    """
    course = stretches(ends)
    yield Heading("Throughput and scaling")
    if not (points := over_time(course)):
        yield Paragraph("When its chunks were counted is not in the run's history.")
        return
    digits = 2 if points[-1][0] < _LONG else 0
    seconds = tuple(f"{second:,.{digits}f}" for second, _ in points)
    yield Chart(
        "Megabytes counted per second, over the time of counting",
        "steps",
        values=tuple(rate / 1e6 for _, rate in (*points, points[-1])),
        unit="MB/s",
        x="seconds of counting",
        positions=(0.0, *(until for until, _ in points)),
    )
    yield Table(
        f"Throughput over time; pauses of {PAUSE:.0f} s and more are left out",
        ("until second", "MB/s"),
        tuple((until, f"{r / 1e6:.1f}") for until, (_, r) in zip(seconds, points, strict=True)),
        frozenset({0, 1}),
    )
    levels = scaling(course)
    if len(levels) < 2:  # noqa: PLR2004  one is no comparison
        yield Paragraph(
            f"No scaling is shown: {levels[0].workers} at once was the only number of workers that "
            f"counted for {100 * LEAST_SHARE:.0f} % of the time or more."
        )
        return
    yield from _scaling(levels)


def _scaling(levels: Sequence[Level]) -> Iterator[Part]:
    shown, first = levels[-_MOST_LEVELS:], levels[0]
    yield Chart(
        "Megabytes counted per second, by the number of workers at once",
        "bars",
        values=tuple(level.rate / 1e6 for level in shown),
        unit="MB/s",
        x="workers at once",
        labels=tuple(str(level.workers) for level in shown),
    )
    yield Table(
        "Scaling; 100 % is the rate of the fewest workers, times how many more there are",
        ("workers at once", "seconds", "MB/s", "MB/s each", "share"),
        tuple(
            (
                str(level.workers),
                f"{level.seconds:.2f}",
                f"{level.rate / 1e6:.1f}",
                f"{level.rate / level.workers / 1e6:.1f}",
                _share(level, first),
            )
            for level in shown
        ),
        frozenset({0, 1, 2, 3, 4}),
    )
    yield Paragraph(
        "How it is computed: each successful attempt is taken to have read its text evenly from "
        "its start to its end, by its worker's clock. Time is cut wherever an attempt starts or "
        "ends, and the parts with the same number of attempts at work are put together. Numbers of "
        f"workers that were at work for less than {100 * LEAST_SHARE:.0f} % of the time are left "
        "out. What the workers cost each other shows here, and so does whatever else changed "
        "between these parts: other text, other machines, the first and the last chunks."
    )


def _share(level: Level, first: Level) -> str:
    alike = first.rate / first.workers * level.workers
    return f"{100 * level.rate / alike:.0f} %" if alike else ""
