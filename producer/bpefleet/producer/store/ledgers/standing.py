"""Which files of a ledger stand, whatever a crash left beside them: see `ledger`."""

from __future__ import annotations

import logging
from array import array
from contextlib import contextmanager, suppress
from functools import reduce
from typing import TYPE_CHECKING

from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.store.ledgers.compaction import CountsFile
from bpefleet.producer.store.ledgers.ledger_format import (
    DamagedError,
    Totals,
    explained,
    files_in,
    first_of,
    is_folded,
    is_part,
    said_by,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)


def read_index(folder: Path, count: int | None = None) -> tuple[ChunkSet, Totals]:
    """Which chunks are folded, and their sums, without reading the counts themselves.

    Args:
        folder: The ledger's.
        count: How many chunks the run has, if known.

    Raises:
        OutputError: A file is damaged.
    """
    standing = Standing(folder, count)
    totals = reduce(Totals.plus, (file.totals for file in standing), Totals())
    return standing.chunks, totals


def read_sums(folder: Path, sources: Sequence[int]) -> dict[int, Totals]:
    """The sums of the folded chunks by their source, likewise.

    Args:
        folder: The ledger's.
        sources: For each chunk of the run its source.

    Raises:
        OutputError: A file is damaged.
    """
    found: dict[int, Totals] = {}
    for file in Standing(folder, len(sources)):
        source = sources[min(file.chunks)] if file.chunks else 0
        found[source] = found.get(source, Totals()).plus(file.totals)
    return found


class Standing:
    """The files that stand, one after the other; some may be put together meanwhile.

    Attributes:
        chunks: The chunks of those that were looked at.
        replaced: The files whose chunks others have: they can go.
    """

    def __init__(
        self,
        folder: Path,
        count: int | None,
        demand: Callable[[CountsFile], None] | None = None,
        check: Callable[[CountsFile], None] | None = None,
    ) -> None:
        """Prepare to look.

        Args:
            folder: The ledger's.
            count: How many chunks the run has, if known.
            demand: Called with each file; raises `ValueError` if it cannot be one of this ledger.
            check: Called with each that is to stand; raises `PayloadError` if it is damaged. If
                this is given, damaged files are set aside with a warning.

        Raises:
            OutputError: The folder is none, or cannot be read.
        """
        self.chunks = ChunkSet()
        self.replaced: list[Path] = []
        self._known = files_in(folder)
        self._count = count
        self._demand = demand
        self._check = check
        self._taken: list[array[int]] = []

    def __iter__(self) -> Iterator[CountsFile]:
        """Look.

        Raises:
            OutputError: A file cannot be read, or says nothing that makes sense.
        """
        many = (self._said_by(path) for path in self._known if not is_part(path))
        yield from filter(self._stands, sorted(filter(None, many), key=_larger_first))
        for path in filter(is_part, self._known):
            if first_of(path) in self.chunks:
                self.replaced.append(path)
            elif (file := self._said_by(path)) and self._stands(file):
                yield file

    def _said_by(self, path: Path) -> CountsFile | None:
        """What a file says of itself. None if it is gone, or damaged and was set aside."""
        with self._judged(path), suppress(FileNotFoundError):  # it was put together just now
            chunks, totals = said_by(path, self._count)
            size = path.stat().st_size
            file = CountsFile(path, array("Q", sorted(chunks)), Totals().plus(totals), size)
            if self._demand:
                self._demand(file)
            return file
        return None

    def _stands(self, file: CountsFile) -> bool:
        with self._judged(file.path):
            if not self.chunks.isdisjoint(file.chunks):
                if not any(set(file.chunks).issubset(taken) for taken in self._taken):
                    raise ValueError("other files have some of its chunks")
                self.replaced.append(file.path)
                return False
            if self._check:
                self._check(file)
            self.chunks.update(file.chunks)
            self._taken.append(file.chunks)
            return True
        return False

    @contextmanager
    def _judged(self, path: Path) -> Iterator[None]:
        """Within the block, set a file aside that is damaged, if they are checked."""
        try:
            with explained(path):
                yield
        except DamagedError as error:
            if self._check is None:
                raise
            path.replace(path.with_name(f"damaged-{path.name}"))
            logger.warning("%s; it is set aside and its chunks are counted again", error.message)


def _larger_first(file: CountsFile) -> tuple[int, bool, str]:
    """The order in which files with many chunks are looked at: what replaced others comes first."""
    return -len(file.chunks), not is_folded(file.path), file.path.name
