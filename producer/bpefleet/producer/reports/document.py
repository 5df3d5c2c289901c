"""A report as a list of parts, free of any markup: each writer escapes every text in it."""

from __future__ import annotations

from dataclasses import dataclass

from bpefleet.shared.process.text import printable


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

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

    caption: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    unit: str
    line: bool = False
    positions: tuple[float, ...] = ()
    end: float = 0.0


Part = Heading | Paragraph | Table | Chart


def one_line(text: str) -> str:
    """`text` of unknown origin as one line without control characters."""
    return printable(text).replace("\n", r"\n")
