"""One process's work on a run, between opening its directory and leaving it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpefleet.producer.attempts import Journal
from bpefleet.producer.directory import RunDirectory
from bpefleet.producer.ledger import Ledger
from bpefleet.producer.lock import locked
from bpefleet.producer.options import Resources
from bpefleet.producer.stop import Stop
from bpefleet.producer.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bpefleet.producer.progress import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """What the stages of a run share.

    Attributes:
        directory: The run, held by this process.
        resources: Where the work is done.
        ledger: The folded chunks.
        journal: The history of attempts.
        watch: Shown what happens.
        stop: Whether to end early.
        todo: The chunks to count.
    """

    directory: RunDirectory
    resources: Resources
    ledger: Ledger
    journal: Journal
    watch: Watch
    stop: Stop
    todo: list[int]


@contextmanager
def session(
    directory: RunDirectory, resources: Resources, progress: Progress, only: Collection[int] = ()
) -> Iterator[Session]:
    """Hold a run directory and open what is in it.

    Args:
        directory: The run.
        resources: Where the work is done.
        progress: Where to show it.
        only: If not empty, the chunks to count; otherwise all that the ledger lacks.

    Raises:
        OutputError: Another process holds it, or it cannot be read or written.
    """
    with locked(directory.path):
        # Before anything else reads it: what is damaged has to be set aside first.
        ledger = Ledger(directory.counts, directory.plan.digest, mend=progress.warn)
        watch = Watch(directory, progress)
        chunks = only or range(len(directory.plan.chunks))
        todo = sorted(set(chunks) - ledger.chunks)
        stop = Stop(directory.path, watch.warn)
        journal = Journal(directory.path)
        watch.tried = journal.tried
        try:
            yield Session(directory, resources, ledger, journal, watch, stop, todo)
        finally:
            journal.close()
            watch.close()
