"""A run at a glance: what `bpefleet status` shows, from a run that goes or from its directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.producer.attempts import read_attempts
from bpefleet.producer.ledger import read_index
from bpefleet.shared.messages import Message

if TYPE_CHECKING:
    from bpefleet.producer.attempts import Attempt
    from bpefleet.producer.directory import RunDirectory

PLANNED: Final = "planned"
COUNT: Final = "count"
MERGE: Final = "merge"
DONE: Final = "done"
STOPPED: Final = "stopped"


@dataclass(frozen=True, slots=True)
class Running(Message):
    """A chunk that a worker is at.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        worker: The worker's name.
    """

    chunk: int
    what: str
    worker: str


@dataclass(frozen=True, slots=True)
class Failure(Message):
    """A chunk that was given up.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        attempts: How often it was tried, in all sessions.
        worker: Who tried last.
        kind: The last error's class.
        error: The last error.
    """

    chunk: int
    what: str
    attempts: int
    worker: str
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class Snapshot(Message):
    """A run at one instant.

    Attributes:
        run: Its id.
        directory: Its directory, on the producer's host.
        producer: The process that runs it, in words; empty if none does.
        stage: `planned`, `count`, `merge`, `done`, or `stopped` between two sessions.
        updated: Unix seconds.
        chunks: All chunks of the plan.
        counted: Chunks in the ledger.
        running: Chunks that a worker is at.
        queued: Chunks in Redis that no worker has taken.
        waiting: Chunks that wait for room in the queue, or for their retry.
        failed: Chunks that were given up.
        bytes: Bytes of the corpus.
        bytes_counted: Of them in the ledger.
        unique: Different pre-tokens so far.
        retries: Attempts that were followed by another, in this session.
        workers: Workers that serve the queue.
        rate: Bytes counted per second, over the last half minute or less.
        eta: Seconds until all is counted at that rate; None if there is no telling.
        merges: Merges to be made.
        merges_made: Merges made.
    """

    run: str
    directory: str
    producer: str
    stage: str
    updated: float
    chunks: int
    counted: int
    running: tuple[Running, ...]
    queued: int
    waiting: int
    failed: tuple[Failure, ...]
    bytes: int
    bytes_counted: int
    unique: int
    retries: int
    workers: int
    rate: float
    eta: float | None
    merges: int
    merges_made: int


def failures(directory: RunDirectory, counted: set[int]) -> list[Failure]:
    """The chunks that were given up and are not counted, by index.

    Raises:
        OutputError: The history cannot be read.
    """
    found = []
    for chunk, attempts in sorted(read_attempts(directory.path).items()):
        if chunk not in counted and attempts[-1].final:
            found.append(_failure(directory, attempts))
    return found


def at_rest(directory: RunDirectory, now: float) -> Snapshot:
    """A run that no process is at, from its directory alone.

    Raises:
        OutputError: The directory cannot be read or is damaged.
    """
    plan = directory.plan
    counted, totals = read_index(directory.counts)
    failed = failures(directory, counted)
    stage = DONE if directory.complete else STOPPED if counted or failed else PLANNED
    return Snapshot(
        run=plan.run,
        directory=str(directory.path.absolute()),
        producer="",
        stage=stage,
        updated=now,
        chunks=len(plan.chunks),
        counted=len(counted),
        running=(),
        queued=0,
        waiting=len(plan.chunks) - len(counted) - len(failed),
        failed=tuple(failed),
        bytes=plan.total_bytes,
        bytes_counted=totals.bytes_read,
        unique=0,
        retries=0,
        workers=0,
        rate=0.0,
        eta=None,
        merges=plan.options.merges,
        merges_made=plan.options.merges if stage == DONE else 0,
    )


def _failure(directory: RunDirectory, attempts: list[Attempt]) -> Failure:
    last = attempts[-1]
    return Failure(
        chunk=last.chunk,
        what=directory.plan.describe(last.chunk),
        attempts=len(attempts),
        worker=last.worker,
        kind=last.kind,
        error=last.error,
    )
