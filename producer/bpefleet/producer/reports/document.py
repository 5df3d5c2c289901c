"""A report as a list of parts, free of any markup: the templates escape every text in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


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
        shape: "bars", side by side above their labels; "line", joined points; "steps", each value
            from its position to the next.
        values: Not negative.
        unit: Of the values.
        x: What the labels or the positions are.
        labels: Of bars.
        positions: Of points and steps, ascending.
        log: Whether the same ratio of positions is the same distance.
    """

    kind: ClassVar = "chart"
    caption: str
    shape: Literal["bars", "line", "steps"]
    values: tuple[float, ...]
    unit: str
    x: str
    labels: tuple[str, ...] = ()
    positions: tuple[float, ...] = ()
    log: bool = False


Part = Heading | Paragraph | Table | Chart


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        name: What it is about: the name of the run's directory.
        parts: What it says, in order.
        of: What its title says before the name.
    """

    name: str
    parts: tuple[Part, ...]
    of: str = "Tokenizer"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Its charts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Chart))
