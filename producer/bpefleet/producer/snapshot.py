"""A run at a glance from its directory, when no process is at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.attempts import read_attempts
from bpefleet.producer.ledger_files import read_index
from bpefleet.shared.status import DONE, PLANNED, STOPPED, Failure, Snapshot

if TYPE_CHECKING:
    from bpefleet.producer.attempts import Attempt
    from bpefleet.producer.directory import RunDirectory


def failures(directory: RunDirectory, counted: set[int]) -> list[Failure]:
    """The chunks that were given up and are not counted, by index.

    Raises:
        OutputError: The history cannot be read.
    """
    found = []
    for chunk, attempts in sorted(read_attempts(directory.path).items()):
        known = 0 <= chunk < len(directory.plan.chunks)
        if known and chunk not in counted and attempts[-1].final:
            found.append(_failure(directory, attempts))
    return found


def at_rest(directory: RunDirectory, now: float) -> Snapshot:
    """A run that no process is at, from its directory alone.

    Raises:
        OutputError: The directory cannot be read or is damaged.
    """
    plan = directory.plan
    counted, totals = read_index(directory.counts, len(plan.chunks))
    failed = failures(directory, counted)
    merges_made, unique = directory.made
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
        pretokens=totals.pretokens,
        unique=unique,
        retries=0,
        workers=0,
        rate=0.0,
        eta=None,
        merges=plan.options.merges,
        merges_made=merges_made,
        holding=False,
        started=now,
        redis_memory=0,
        unfolded=0,
        merging=None,
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
