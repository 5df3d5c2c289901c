"""One process's work on a run, between opening its directory and leaving it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpefleet.producer.observing.counting_view import CountingView
from bpefleet.producer.observing.merging_view import MergingView
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import Journal
from bpefleet.producer.store.ledger import Ledger
from bpefleet.producer.store.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bpefleet.producer.progress.progress import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """What the stages of a run share.

    Attributes:
        directory: The run, held by this process.
        resources: Where the work is done.
        ledger: The folded chunks.
        journal: The history of attempts.
        status: The snapshot for who looks on.
        counting: Shows how far counting is.
        merging: Shows how far merging is.
        stop: Whether to end early.
        todo: The chunks to count.
    """

    directory: RunDirectory
    resources: Resources
    ledger: Ledger
    journal: Journal
    status: StatusFile
    counting: CountingView
    merging: MergingView
    stop: Stop
    todo: list[int]


@contextmanager
def session(
    directory: RunDirectory,
    resources: Resources,
    progress: Progress,
    stop: Stop,
    only: Collection[int] = (),
) -> Iterator[Session]:
    """Open what is in a run directory that this process holds.

    Args:
        directory: The run.
        resources: Where the work is done.
        progress: Where to show it.
        stop: Whether to end early.
        only: If not empty, the chunks to count; otherwise all that the ledger lacks.

    Raises:
        OutputError: It cannot be read or written.
    """
    plan = directory.plan
    directory.make_counts()  # some copying leaves empty folders out
    # Before anything else reads it: what is damaged has to be set aside first.
    ledger = Ledger(
        directory.counts,
        plan.digest,
        chunks=len(plan.chunks),
        sources=plan.chunk_sources,
        mend=True,
    )
    todo = sorted(set(only or range(len(plan.chunks))) - ledger.chunks)
    journal = Journal(directory.path)
    status = StatusFile(directory)
    try:
        yield Session(
            directory=directory,
            resources=resources,
            ledger=ledger,
            journal=journal,
            status=status,
            counting=CountingView(plan, ledger, journal.tried, status, progress),
            merging=MergingView(status, progress),
            stop=stop,
            todo=todo,
        )
    finally:
        journal.close()
        status.close()
