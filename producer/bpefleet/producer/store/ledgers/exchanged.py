"""The ledger of an exchange: which counts lie there, in a file of the run directory.

    counts/exchange.jsonl    one line of JSON for each thing that happened, in its order

A chunk whose counts lie in the exchange is counted once its line is on disk. Counts that are put
together are a part again: of several chunks, made from parts which it replaces. What is to be put
together is noted first, with a number, so that a number means the same in every session. A part
that is found damaged is noted as lost, and its chunks are counted again.

In the end all parts are brought into the ledger proper (see `ledger`), whose files are the truth:
opening this one drops what is there already. Once all chunks are there, this file is removed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Final

import msgspec

from bpefleet.producer.files.atomic import open_regular, sync_folder, unwritable
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.errors import OutputError, StoreError, UsageError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.wire.messages import Message, Natural, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

EXCHANGED: Final = "exchange.jsonl"
_VERSION: Final = 1


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
    """Some parts are to be put together.

    Attributes:
        unit: The number of the sum: the next one each time.
        inputs: The parts, by chunk; of those that are sums, -1 less the number of the sum.
    """

    unit: Natural
    inputs: tuple[int, ...]


class Reduced(Message, frozen=True, tag="reduced"):
    """A sum lies in the exchange, and replaces what it was made from."""

    unit: Natural
    part: Part


class Dropped(Message, frozen=True, tag="dropped"):
    """A sum is not to be made after all."""

    unit: Natural


class Gone(Message, frozen=True, tag="gone"):
    """A part is in the ledger by now, or is of no use: its chunks are then counted again."""

    held: int


_Line = Begun | Counted | Planned | Reduced | Dropped | Gone
_READ: Final = msgspec.json.Decoder(_Line)


@dataclass(frozen=True, slots=True)
class Held:
    """A part in the exchange.

    Attributes:
        id: The chunk; of a sum, -1 less its number.
        part: What is known of it.
        chunks: The chunks whose counts it has.
        totals: Their sums.
        level: How often the counts were put together.
    """

    id: int
    part: Part
    chunks: frozenset[int]
    totals: Totals
    level: int = 0


@dataclass(slots=True)
class Parts:
    """What the lines of such a ledger come to.

    Attributes:
        place: Where the exchange is; empty if there is none.
        run: Whose it is.
        held: The parts in it, by id.
        units: For each sum that was planned its inputs.
        open: Those sums that are still to be made.
        taken: The ids of the inputs of these.
        chunks: The chunks that the parts hold.
        sources: For each chunk of the run its source; without, there is one.
        by_source: The sums of the parts by source.
    """

    place: str = ""
    run: str = ""
    held: dict[int, Held] = field(default_factory=dict)
    units: list[tuple[int, ...]] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
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
                    self._hold(Held(chunk, part, frozenset((chunk,)), totals))
            case Planned(unit, inputs):
                self._plan(unit, inputs)
            case Reduced(unit, part):
                if unit in self.open:
                    self._reduce(unit, part)
            case Dropped(unit):
                self._close(unit)
            case Gone(held):
                self._leave(held)

    def sum_of(self, unit: int, part: Part) -> Held:
        """A planned sum, once it is made."""
        inputs = self.inputs(unit)
        totals = Totals()
        for each in inputs:
            totals = totals.plus(each.totals)
        chunks = frozenset().union(*(each.chunks for each in inputs))
        return Held(-1 - unit, part, chunks, totals, 1 + max(each.level for each in inputs))

    def inputs(self, unit: int) -> list[Held]:
        """What a sum that is to be made is made from."""
        return [self.held[each] for each in self.units[unit]]

    def free(self) -> list[Held]:
        """The parts that no sum is to be made from yet, by their first chunks."""
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

    def _plan(self, unit: int, inputs: tuple[int, ...]) -> None:
        free = all(each in self.held and each not in self.taken for each in inputs)
        if unit != len(self.units) or not free:
            raise ValueError(f"the sum {unit} cannot be made")
        self.units.append(inputs)
        self.open.add(unit)
        self.taken.update(inputs)

    def _reduce(self, unit: int, part: Part) -> None:
        made = self.sum_of(unit, part)
        self._close(unit)
        for each in self.units[unit]:
            del self.held[each]
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
        if unit in self.open:
            self.open.discard(unit)
            self.taken.difference_update(self.units[unit])


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
    """The lines that say that some parts, by id, are of no use, and so no sums that need them."""
    units = [unit for unit in sorted(parts.open) if not set(gone).isdisjoint(parts.units[unit])]
    return [*map(Dropped, units), *map(Gone, gone)]


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

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the file: all is in the ledger."""
        self._path.unlink(missing_ok=True)
