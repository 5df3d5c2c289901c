"""One process's work on a run, between opening its directory and leaving it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bpefleet.producer.counting.exchange.elsewhere import Elsewhere
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.counting import CountingView
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.observing.views.writing import WritingView
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.exchanged.counted import AllCounted
from bpefleet.producer.store.exchanged.journal import Exchanged, is_begun
from bpefleet.producer.store.history import Journal
from bpefleet.producer.store.ledgers.encoded_ledger import EncodedLedger
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.settled import Settled
from bpefleet.producer.store.opening import open_settled
from bpefleet.producer.store.stop import Stop
from bpefleet.shared.exchange.place import checked_place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bpefleet.producer.progress.progress import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """What the stages of a run share.

    Attributes:
        directory: The run, held by this process.
        resources: Where the work is done.
        ledger: The chunks that are done here.
        elsewhere: What is counted and lies in an exchange; None without one.
        journal: The history of attempts.
        status: The snapshot for who looks on.
        counting: Shows how far counting is.
        merging: Shows how far merging is.
        writing: Shows how far the shards are.
        stop: Whether to end early.
        planned: How many chunks the plan has as the session begins: any others arrive.
        todo: Those of them to count.
        arrived: How much has arrived of a corpus that is no file, and whether more may come.
    """

    directory: RunDirectory
    resources: Resources
    ledger: Settled
    journal: Journal
    status: StatusFile
    counting: CountingView
    merging: MergingView
    writing: WritingView
    stop: Stop
    planned: int
    todo: list[int]
    arrived: Arrived = field(default_factory=Arrived)
    elsewhere: Elsewhere | None = None

    @property
    def counted(self) -> AllCounted:
        """The chunks that are counted, be it here or there."""
        return AllCounted(self.ledger, self.elsewhere.ledger if self.elsewhere else None)

    @property
    def counts(self) -> Ledger:
        """The counts of a run that counts."""
        if not isinstance(self.ledger, Ledger):  # pragma: no cover
            raise TypeError
        return self.ledger

    @property
    def encoded(self) -> EncodedLedger:
        """The pieces of a run that encodes."""
        if not isinstance(self.ledger, EncodedLedger):  # pragma: no cover
            raise TypeError
        return self.ledger


@contextmanager
def session(
    directory: RunDirectory,
    resources: Resources,
    progress: Progress,
    stop: Stop,
    only: Collection[int] = (),
    arrived: Arrived | None = None,
) -> Iterator[Session]:
    """Open what is in a run directory that this process holds.

    Args:
        directory: The run.
        resources: Where the work is done.
        progress: Where to show it.
        stop: Whether to end early.
        only: If not empty, the chunks to count; otherwise all that the ledger lacks.
        arrived: Of a corpus that arrives; None for one that is there.

    Raises:
        OutputError: It cannot be read or written.
        UsageError: Its exchange is not there.
        StoreError: It fails.
    """
    plan = directory.plan
    arrived = arrived or Arrived()
    # Before anything else reads it: what is damaged has to be set aside first.
    planned = plan.chunk_count
    ledger = open_settled(directory, planned)
    elsewhere = _elsewhere(directory, resources, ledger) if isinstance(ledger, Ledger) else None
    counted = AllCounted(ledger, elsewhere.ledger if elsewhere else None)
    todo = sorted(set(only or range(planned)) - counted.chunks)
    journal = Journal(directory.path, plan.kind.name)
    status = StatusFile(directory)
    try:
        yield Session(
            directory=directory,
            resources=resources,
            ledger=ledger,
            journal=journal,
            status=status,
            counting=CountingView(plan, counted, journal.failed, status, progress, arrived),
            merging=MergingView(status, progress),
            writing=WritingView(status, progress),
            stop=stop,
            planned=planned,
            todo=todo,
            arrived=arrived,
            elsewhere=elsewhere,
        )
    finally:
        journal.close()
        status.close()
        if elsewhere is not None:
            elsewhere.close(done=len(ledger.chunks) >= plan.chunk_count > 0)


def _elsewhere(directory: RunDirectory, resources: Resources, ledger: Ledger) -> Elsewhere | None:
    """The exchange of a run, if it has one or is to have one."""
    plan = directory.plan
    place = checked_place(resources.exchange) if resources.exchange else ""
    if not place and not is_begun(directory.counts):
        return None
    exchanged = Exchanged(
        directory.counts, plan.run, place, counted=ledger.chunks, sources=plan.chunk_sources
    )
    try:
        checked_place(exchanged.parts.place)
        return Elsewhere(exchanged, plan)
    except BaseException:
        exchanged.close()
        raise
