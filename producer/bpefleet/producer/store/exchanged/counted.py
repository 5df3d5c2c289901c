"""What is counted: in the ledger, or in an exchange."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from bpefleet.producer.store.exchanged.journal import read_parts
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.producer.store.ledgers.standing import read_index, read_sums
from bpefleet.shared.wire.shown.status import Exchanging

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from bpefleet.producer.planning.columns.chunk_set import ChunkSet
    from bpefleet.producer.store.exchanged.journal import Exchanged
    from bpefleet.producer.store.exchanged.parts import Parts
    from bpefleet.producer.store.ledgers.settled import Settled


def read_counted(
    folder: Path, count: int, sources: Sequence[int] = ()
) -> tuple[ChunkSet, Totals, dict[int, Totals]]:
    """The chunks that are counted, by a run's directory alone, their sums, and these by source.

    Args:
        folder: That of the ledger.
        count: How many chunks the run has.
        sources: For each its source; without, there is nothing to tell by source.

    Raises:
        OutputError: A file is damaged.
    """
    chunks, totals = read_index(folder, count)
    elsewhere = read_parts(folder, chunks, sources)
    totals = reduce(Totals.plus, elsewhere.by_source.values(), totals)
    by_source = read_sums(folder, sources) if sources else {}
    if sources:
        for source, more in elsewhere.by_source.items():
            by_source[source] = by_source.get(source, Totals()).plus(more)
    chunks.update(elsewhere.chunks)
    return chunks, totals, by_source


def told_of(parts: Parts) -> Exchanging | None:
    """What lies in an exchange, for people; None if there is none."""
    if not parts.place:
        return None
    sums, held = len(parts.units), [*parts.held.values()]
    size = sum(each.size for each in held)
    return Exchanging(sums, sums - len(parts.open), len(held), size)


class AllCounted:
    """The chunks that are counted: a collection of their indexes."""

    def __init__(self, ledger: Settled, exchanged: Exchanged | None = None) -> None:
        """Look at a run's ledger, and at that of its exchange, if it has one."""
        self._ledger = ledger
        self._exchanged = exchanged
        self.still = ledger.still

    def __contains__(self, chunk: object) -> bool:
        elsewhere = self._exchanged.parts.chunks if self._exchanged else ()
        return chunk in self._ledger.chunks or chunk in elsewhere

    def __iter__(self) -> Iterator[int]:
        return iter(self.chunks)

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def chunks(self) -> AbstractSet[int]:
        """Indexes of the chunks."""
        if self._exchanged is None:
            return self._ledger.chunks
        elsewhere = self._exchanged.parts.chunks
        return self._ledger.chunks | elsewhere if self._ledger.chunks else elsewhere

    @property
    def totals(self) -> Totals:
        """Their sums."""
        if self._exchanged is None:
            return self._ledger.totals
        found = [*self._exchanged.parts.by_source.values()]
        return reduce(Totals.plus, found, self._ledger.totals)

    @property
    def by_source(self) -> dict[int, Totals]:
        """Their sums by source, of those that have any."""
        found = dict(self._ledger.by_source)
        if self._exchanged is not None:
            for source, totals in [*self._exchanged.parts.by_source.items()]:
                found[source] = found.get(source, Totals()).plus(totals)
        return found

    @property
    def exchanging(self) -> Exchanging | None:
        """What lies in the exchange."""
        if self._exchanged is None:
            return None
        return told_of(self._exchanged.parts)

    @property
    def tokens(self) -> int:
        """Tokens written, where chunks are encoded."""
        return self._ledger.tokens

    @property
    def documents(self) -> int:
        """Likewise documents."""
        return self._ledger.documents

    @property
    def unique(self) -> int:
        """About how many different pre-tokens there are; in an exchange, in what is put together.

        As many at least as in any chunk.
        """
        found = [self._ledger.unique]
        if self._exchanged is not None:
            found += [each.unique for each in [*self._exchanged.parts.held.values()]]
            found.append(self._exchanged.unique)
        return max(found)
