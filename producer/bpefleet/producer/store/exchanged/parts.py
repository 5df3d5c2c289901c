"""What lies in an exchange, and the lines that tell of it (see `journal`)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.wire.messages import Message, Natural, Part

if TYPE_CHECKING:
    from collections.abc import Collection


VERSION: Final = 2
"""Of these lines."""


class Begun(Message, frozen=True, tag="begun"):
    """The first line: where the exchange is, and whose."""

    version: Natural
    place: str
    run: str


class Counted(Message, frozen=True, tag="counted"):
    """A chunk's counts lie in the exchange."""

    chunk: Natural
    part: Part
    totals: Totals


class Planned(Message, frozen=True, tag="planned"):
    """Some counts are to be put together.

    Attributes:
        unit: The number of the sum's first job: the next one each time.
        inputs: Those counts, by chunk; of those that are sums, -1 less the number of the sum.
        units: How many jobs it takes: as many as the inputs have ranges.
        ranges: Into how many ranges each job divides what it makes.
    """

    unit: Natural
    inputs: tuple[int, ...]
    units: Natural = 1
    ranges: Natural = 1


class Reduced(Message, frozen=True, tag="reduced"):
    """What a job made lies in the exchange. That of the last replaces what the sum is made from."""

    unit: Natural
    parts: tuple[Part, ...]


class Dropped(Message, frozen=True, tag="dropped"):
    """The sum of a job is not to be made after all."""

    unit: Natural


class Gone(Message, frozen=True, tag="gone"):
    """A part is in the ledger by now, or is of no use: its chunks are then counted again."""

    held: int


Line = Begun | Counted | Planned | Reduced | Dropped | Gone
"""A thing that happened."""
READ: Final = msgspec.json.Decoder(Line)
"""Reads a line."""


@dataclass(frozen=True, slots=True)
class Held:
    """Counts in the exchange.

    Attributes:
        id: The chunk; of a sum, -1 less its number.
        parts: The files, range by range.
        chunks: The chunks whose counts they are.
        totals: Their sums.
        level: How often the counts were put together.
    """

    id: int
    parts: tuple[Part, ...]
    chunks: array[int]
    totals: Totals
    level: int = 0

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(part.size for part in self.parts)

    @property
    def unique(self) -> int:
        """Different pre-tokens: ranges have none in common."""
        return sum(part.unique for part in self.parts)


@dataclass(slots=True)
class Parts:
    """What the lines of such a ledger come to.

    Attributes:
        place: Where the exchange is; empty if there is none.
        run: Whose it is.
        held: The counts in it, by id.
        units: For each job that was planned its sum.
        open: Those jobs that are still to be done.
        made: What the others made, of sums of which some are still to be done.
        taken: The ids of the inputs of all these sums.
        chunks: The chunks that the parts hold.
        sources: For each chunk of the run its source; without, there is one.
        by_source: The sums of the parts by source.
    """

    place: str = ""
    run: str = ""
    held: dict[int, Held] = field(default_factory=dict)
    units: list[Planned] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    made: dict[int, tuple[Part, ...]] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    chunks: ChunkSet = field(default_factory=ChunkSet)
    sources: Sequence[int] = ()
    by_source: dict[int, Totals] = field(default_factory=dict)

    def source_of(self, held: Held) -> int:
        """The source whose counts a part has: it has no others."""
        return self.sources[min(held.chunks)] if self.sources else 0

    def follow(self, line: Line) -> None:
        """Take in a line. One that says what is known already changes nothing.

        Raises:
            ValueError: It contradicts those before it.
        """
        match line:
            case Begun():
                self._begin(line)
            case Counted(chunk, part, totals):
                if chunk not in self.chunks:
                    self._hold(Held(chunk, (part,), array("Q", (chunk,)), totals))
            case Planned():
                self._plan(line)
            case Reduced(unit, parts):
                if unit in self.open:
                    self._reduce(unit, parts)
            case Dropped(unit):
                self._close(unit)
            case Gone(held):
                self._leave(held)

    def inputs(self, unit: int) -> list[Held]:
        """What the sum of a job is made from, as far as it is there."""
        return [self.held[each] for each in self.units[unit].inputs if each in self.held]

    def files(self, unit: int) -> list[Part]:
        """What a job puts together: a range of each."""
        place = unit - self.units[unit].unit
        return [each.parts[place] for each in self.inputs(unit)]

    def half_made(self, gone: Collection[int]) -> list[Part]:
        """What was made of sums that cannot be made any more without some counts, by id."""
        lost = set(gone)
        found = [unit for unit in self.made if not lost.isdisjoint(self.units[unit].inputs)]
        return [part for unit in found for part in self.made[unit]]

    def free(self) -> list[Held]:
        """The counts that no sum is to be made from yet, by their first chunks."""
        found = (each for name, each in self.held.items() if name not in self.taken)
        return sorted(found, key=lambda each: min(each.chunks))

    def _hold(self, held: Held) -> None:
        self.held[held.id] = held
        self.chunks.update(held.chunks)
        self._sum_up(held)

    def _begin(self, line: Begun) -> None:
        if line.version != VERSION or self.place not in ("", line.place):
            raise ValueError("it is of another version, or of another exchange")
        self.place, self.run = line.place, line.run

    def _plan(self, line: Planned) -> None:
        free = all(each in self.held and each not in self.taken for each in line.inputs)
        fits = free and all(len(self.held[each].parts) == line.units for each in line.inputs)
        if line.unit != len(self.units) or not fits:
            raise ValueError(f"the sum {line.unit} cannot be made")
        self.units += [line] * line.units
        self.open.update(_jobs(line))
        self.taken.update(line.inputs)

    def _reduce(self, unit: int, parts: tuple[Part, ...]) -> None:
        line = self.units[unit]
        self.open.discard(unit)
        self.made[unit] = parts
        if not self.open.isdisjoint(_jobs(line)):
            return
        found = tuple(part for job in _jobs(line) for part in self.made[job])
        inputs = self.inputs(unit)
        self._close(unit)
        totals = Totals()
        for each in inputs:
            totals = totals.plus(each.totals)
            del self.held[each.id]
        chunks = array("Q", sorted(chunk for each in inputs for chunk in each.chunks))
        level = 1 + max(each.level for each in inputs)
        made = Held(-1 - line.unit, found, chunks, totals, level)
        self.held[made.id] = made

    def _leave(self, held: int) -> None:
        self.chunks.difference_update(self.held.pop(held).chunks)
        self.by_source = {}
        for left in self.held.values():
            self._sum_up(left)

    def _sum_up(self, held: Held) -> None:
        source = self.source_of(held)
        self.by_source[source] = self.by_source.get(source, Totals()).plus(held.totals)

    def _close(self, unit: int) -> None:
        """No job of a sum is waited for any more."""
        line = self.units[unit]
        if unit in self.open or unit in self.made:
            self.open.difference_update(_jobs(line))
            self.taken.difference_update(line.inputs)
            for job in _jobs(line):
                self.made.pop(job, None)


def _jobs(line: Planned) -> range:
    return range(line.unit, line.unit + line.units)
