"""The counts of a run whose chunks are all counted: to merge them again, or to write them down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.store.ledger import Ledger
from bpefleet.shared.errors import ChunksFailedError

if TYPE_CHECKING:
    from bpefleet.producer.store.directory import RunDirectory


def all_counts(source: RunDirectory) -> Ledger:
    """A run's counts, without the chunks that it was finished without.

    Raises:
        ChunksFailedError: Others are not counted.
        OutputError: The counts are damaged, or cannot be read.
    """
    count = len(source.plan.chunks)
    missing = {one.chunk for one in (source.manifest.missing if source.manifest else ())}
    # Another process may be working on that run: nothing there is changed.
    ledger = Ledger(source.counts, source.plan.digest, chunks=count, tidy=False)
    if left := set(range(count)) - ledger.chunks - missing:
        raise ChunksFailedError(
            f"{len(left)} of {count} chunks of {source.path} are not counted",
            hint=f"finish it first: bpefleet resume {source.path}",
        )
    return ledger
