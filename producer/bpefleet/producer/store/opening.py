"""Opens the ledger of a run, whatever its kind of job: to go on with it, or only to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.store.exchanged.counted import read_counted
from bpefleet.producer.store.ledgers.encoded_ledger import EncodedLedger, read_encoded
from bpefleet.producer.store.ledgers.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.producer.planning.columns.chunk_set import ChunkSet
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.ledgers.ledger_format import Totals


def open_settled(directory: RunDirectory, planned: int) -> Ledger | EncodedLedger:
    """Open a run's ledger to go on with it. What is damaged is set aside, to be done again.

    Raises:
        OutputError: It cannot be read or written.
    """
    plan = directory.plan
    if plan.encoding is not None:
        return EncodedLedger(directory.path, plan)
    directory.make_counts()  # some copying leaves empty folders out
    return Ledger(
        directory.counts,
        plan.digest,
        chunks=planned,
        sources=plan.chunk_sources,
        mend=True,
    )


def read_settled(
    directory: RunDirectory, sources: Sequence[int] = ()
) -> tuple[ChunkSet, Totals, dict[int, Totals], tuple[int, int]]:
    """Which chunks are done, their sums, these by source, and the tokens and documents written.

    Args:
        directory: The run's.
        sources: For each chunk its source; without, there is nothing to tell by source.

    Raises:
        OutputError: It cannot be read, or is damaged.
    """
    count = directory.plan.chunk_count
    if directory.plan.encoding is not None:
        return read_encoded(directory.path, count, sources)
    return *read_counted(directory.counts, count, sources), (0, 0)
