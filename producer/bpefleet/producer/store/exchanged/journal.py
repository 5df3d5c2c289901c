"""The ledger of an exchange: which counts lie there, in a file of the run directory.

    counts/exchange.jsonl    one line of JSON for each thing that happened, in its order
    counts/exchange.least    the least hashes of what was put together, 8 bytes each: an estimate of
                             how many different pre-tokens there are goes on from them

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
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Final

import msgspec

from bpefleet.kernel import SAMPLE
from bpefleet.producer.files.atomic import (
    open_regular,
    sync_folder,
    unwritable,
    write_atomically,
)
from bpefleet.producer.store.exchanged.parts import (
    READ,
    VERSION,
    Begun,
    Dropped,
    Gone,
    Held,
    Line,
    Parts,
)
from bpefleet.producer.store.ledgers.unique_estimate import Distinct
from bpefleet.shared.errors import OutputError, StoreError, UsageError
from bpefleet.shared.exchange.place import exchange_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

EXCHANGED: Final = "exchange.jsonl"
LEAST: Final = "exchange.least"


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


def leaving(parts: Parts, gone: Collection[int]) -> list[Line]:
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
                parts.follow(READ.decode(line))
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


def _read_least(path: Path) -> array[int]:
    """What was kept for the estimate; nothing, if it cannot be read: no more depends on it."""
    with suppress(OSError), os.fdopen(open_regular(path), "rb") as file:
        kept = file.read(8 * SAMPLE)
        return array("Q", kept[: len(kept) // 8 * 8])
    return array("Q")


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
        self._least = folder / LEAST
        self._distinct = Distinct()
        self._distinct.see(_read_least(self._least))
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
            self.note([Begun(VERSION, place, run)])
        held = self.parts.held
        if lines := leaving(self.parts, [name for name in held if _is_in(counted, held[name])]):
            self.note(lines)

    def note(self, lines: Sequence[Line]) -> None:
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
        """About how many different pre-tokens are in what was put together."""
        return self._distinct.estimate

    def see(self, least: bytes) -> None:
        """Take in the least hashes of a sum, 8 bytes each, for an estimate.

        Raises:
            OutputError: They cannot be written.
        """
        if least:
            self._distinct.see(array("Q", least))
            write_atomically(self._least, array("Q", self._distinct.least).tobytes())

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the files: all is in the ledger."""
        self._path.unlink(missing_ok=True)
        self._least.unlink(missing_ok=True)
