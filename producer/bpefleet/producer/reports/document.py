"""A report as a list of parts, free of any markup: the templates escape every text in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of the parts that follow."""

    kind: ClassVar = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    kind: ClassVar = "paragraph"
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        caption: What it shows.
        columns: The columns' names.
        rows: For each row its cells, as many as columns.
        numbers: The columns, by index, that hold numbers.
    """

    kind: ClassVar = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of numbers that a table beside it holds, too: who cannot see it loses nothing.

    Attributes:
        caption: What it shows.
        labels: Of the values, along the x-axis.
        values: Not negative.
        unit: Of the values.
        line: Whether the points are joined; otherwise they are bars.
        positions: Where the values are on an x-axis of numbers from 0 to `end`; if empty, they are
            side by side above their labels.
        end: The end of that axis.
    """

    kind: ClassVar = "chart"
    caption: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    unit: str
    line: bool = False
    positions: tuple[float, ...] = ()
    end: float = 0.0


Part = Heading | Paragraph | Table | Chart


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        name: The name of the run's directory.
        parts: What it says, in order.
    """

    name: str
    parts: tuple[Part, ...]
