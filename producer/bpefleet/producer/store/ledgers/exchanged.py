"""The ledger of an exchange: which counts lie there, in a file of the run directory.

    counts/exchange.jsonl    one line of JSON for each thing that happened, in its order

A chunk whose counts lie in the exchange is counted once its line is on disk. Counts that are put
together lie there like those of a chunk: of several chunks, made from what they replace. What is to
be put together is noted first, with numbers, so that a number means the same in every session. What
is found damaged is noted as lost, and its chunks are counted again.

Large sums are divided into ranges of hashes, a file each. From then on each range is a job of its
own, with a number of its own, and made of the same range of what the sum is made from. A sum
replaces that in one go, once all of its ranges are made: so at any instant each chunk's counts lie
there once.

In the end all parts are brought into the ledger proper (see `ledger`), whose files are the truth:
opening this one drops what is there already. Once all chunks are there, this file is removed.
"""

from __future__ import annotations

import logging
import os
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Final

import msgspec

from bpefleet.producer.files.atomic import open_regular, sync_folder, unwritable
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.producer.store.ledgers.unique_estimate import Distinct
from bpefleet.shared.errors import OutputError, StoreError, UsageError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.wire.messages import Message, Natural, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

EXCHANGED: Final = "exchange.jsonl"
_VERSION: Final = 2


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


_Line = Begun | Counted | Planned | Reduced | Dropped | Gone
_READ: Final = msgspec.json.Decoder(_Line)


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
    chunks: frozenset[int]
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
    chunks: set[int] = field(default_factory=set)
    sources: Sequence[int] = ()
    by_source: dict[int, Totals] = field(default_factory=dict)

    def source_of(self, held: Held) -> int:
        """The source whose counts a part has: it has no others."""
        return self.sources[min(held.chunks)] if self.sources else 0

    def follow(self, line: _Line) -> None:
        """Take in a line. One that says what is known already changes nothing.

        Raises:
            ValueError: It contradicts those before it.
        """
        match line:
            case Begun():
                self._begin(line)
            case Counted(chunk, part, totals):
                if chunk not in self.chunks:
                    self._hold(Held(chunk, (part,), frozenset((chunk,)), totals))
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
        self.chunks |= held.chunks
        self._sum_up(held)

    def _begin(self, line: Begun) -> None:
        if line.version != _VERSION or self.place not in ("", line.place):
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
        chunks = frozenset().union(*(each.chunks for each in inputs))
        level = 1 + max(each.level for each in inputs)
        made = Held(-1 - line.unit, found, chunks, totals, level)
        self.held[made.id] = made

    def _leave(self, held: int) -> None:
        self.chunks -= self.held.pop(held).chunks
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


def read_parts(folder: Path, counted: Collection[int] = (), sources: Sequence[int] = ()) -> Parts:
    """What lies in the exchange of a run, as its directory tells.

    Args:
        folder: That of the ledger.
        counted: The chunks that the ledger itself has: parts with any of them are left out.
        sources: For each chunk of the run its source; without, there is one.

    Raises:
        OutputError: The file cannot be read, or is damaged.
    """
    parts, _ = _read(folder / EXCHANGED, sources)
    for line in leaving(parts, [name for name in parts.held if _is_in(counted, parts.held[name])]):
        parts.follow(line)
    return parts


def is_begun(folder: Path) -> bool:
    """Whether a run has such a ledger."""
    return os.path.lexists(folder / EXCHANGED)


def empty_exchange(folder: Path) -> None:
    """Remove what a run has in its exchange, of which nothing is needed any more."""
    try:
        parts = read_parts(folder)
        if parts.place:
            exchange_at(parts.place, parts.run).clear()
    except (OutputError, StoreError, UsageError) as error:
        logger.warning("what the run has in its exchange stays there: %s", error.message)


def leaving(parts: Parts, gone: Collection[int]) -> list[_Line]:
    """The lines that say that some counts, by id, are of no use, and so no sums that need them."""
    wanted = {parts.units[unit] for unit in parts.open}
    lost = sorted(line.unit for line in wanted if not set(gone).isdisjoint(line.inputs))
    return [*map(Dropped, lost), *map(Gone, gone)]


def _is_in(counted: Collection[int], held: Held) -> bool:
    return any(chunk in counted for chunk in held.chunks)


def _read(path: Path, sources: Sequence[int]) -> tuple[Parts, int]:
    """The parts, and how many bytes of the file are whole lines."""
    parts, end = Parts(sources=sources), 0
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return parts, 0
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        try:
            for line in _lines(file):
                parts.follow(_READ.decode(line))
                end += len(line)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, IndexError) as error:
            raise OutputError(
                f"{path} is damaged at byte {end}: {error}",
                hint="move it away: what lies in the exchange is counted again",
            ) from error
    return parts, end


def _lines(file: Iterable[bytes]) -> Iterator[bytes]:
    for line in file:
        if not line.endswith(b"\n"):
            return  # a crash left half a line, of which nothing depends
        yield line


class Exchanged:
    """The ledger of an exchange, open for writing. Threads may write at once.

    Attributes:
        parts: What it comes to.
        still: Held by who decides by the parts what to note.
        noted: How many lines were noted in this session.
    """

    def __init__(
        self,
        folder: Path,
        run: str,
        place: str,
        *,
        counted: Collection[int],
        sources: Sequence[int] = (),
    ) -> None:
        """Open it, or begin it.

        Args:
            folder: That of the ledger.
            run: The run's id.
            place: Where the exchange is to be; empty for where it is.
            counted: The chunks that the ledger itself has.
            sources: For each chunk of the run its source; without, there is one.

        Raises:
            OutputError: It cannot be read or written, is damaged, or is of another place.
        """
        self._path = folder / EXCHANGED
        self.still = RLock()
        self.noted = 0
        self._distinct = Distinct()
        self.parts, end = _read(self._path, sources)
        if place and self.parts.place not in ("", place):
            raise OutputError(
                f"counts of this run lie in the exchange {self.parts.place}, not in {place}",
                hint="go on with that one: leave --exchange out",
            )
        try:
            self._descriptor = open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.ftruncate(self._descriptor, end)
            sync_folder(folder)
        except OSError as error:
            raise unwritable(self._path, error) from error
        if not self.parts.place:
            self.note([Begun(_VERSION, place, run)])
        held = self.parts.held
        if lines := leaving(self.parts, [name for name in held if _is_in(counted, held[name])]):
            self.note(lines)

    def note(self, lines: Sequence[_Line]) -> None:
        """Write lines, on disk when this returns, and follow them.

        Raises:
            OutputError: They cannot be written.
        """
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        with self.still:
            end = os.fstat(self._descriptor).st_size
            try:
                left = memoryview(data)
                while left:  # the system may write less than it is given
                    left = left[os.write(self._descriptor, left) :]
                os.fdatasync(self._descriptor)
            except OSError as error:
                with suppress(OSError):
                    os.ftruncate(self._descriptor, end)
                raise unwritable(self._path, error) from error
            for line in lines:
                self.parts.follow(line)
            self.noted += len(lines)

    @property
    def unique(self) -> int:
        """About how many different pre-tokens are in what was put together in this session."""
        return self._distinct.estimate

    def see(self, least: bytes) -> None:
        """Take in the least hashes of a sum, 8 bytes each, for an estimate."""
        self._distinct.see(array("Q", least))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the file: all is in the ledger."""
        self._path.unlink(missing_ok=True)
