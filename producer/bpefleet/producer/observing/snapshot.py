"""A run at a glance from its directory: as its process told last, or without one."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.files.atomic import read_whole
from bpefleet.producer.files.lock import LOCK, holder
from bpefleet.producer.observing.expected_text import ExpectedText
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.exchanged.counted import told_of
from bpefleet.producer.store.exchanged.journal import read_parts
from bpefleet.producer.store.history import ATTEMPTS, given_up
from bpefleet.producer.store.mixture import source_views
from bpefleet.producer.store.opening import read_settled
from bpefleet.shared.errors import OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.shown.status import DONE, MOST_FAILED, PLANNED, STOPPED, Failure, Snapshot

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from bpefleet.producer.store.history import Attempt
    from bpefleet.producer.store.manifest import Manifest

SNAPSHOT: Final = "status.json"
LARGEST: Final = 1 << 26
"""Bytes of a snapshot."""


def failures(directory: RunDirectory, counted: Container[int]) -> list[Failure]:
    """The chunks that were given up and are not counted, by index.

    Raises:
        OutputError: The history cannot be read.
    """
    found = given_up(directory.path, counted, directory.plan.kind.name)
    return [
        _failure(directory, last, attempts)
        for chunk, (last, attempts) in found.items()
        if 0 <= chunk < directory.plan.chunk_count
    ]


def at_rest(directory: RunDirectory, now: float) -> Snapshot:
    """A run that no process is at, from its directory alone.

    Raises:
        OutputError: The directory cannot be read or is damaged.
    """
    plan = directory.plan
    sources = plan.chunk_sources if plan.is_mixture else ()
    counted, totals, by_source, (tokens, documents) = read_settled(directory, sources)
    failed = failures(directory, counted)
    manifest = None if plan.encoding else directory.manifest
    planned, started, ended = _times(directory, manifest)
    return Snapshot(
        run=plan.run,
        directory=str(directory.path.absolute()),
        producer="",
        stage=DONE if directory.complete else STOPPED,
        updated=now,
        chunks=plan.chunk_count,
        counted=len(counted),
        running=(),
        queued=0,
        waiting=plan.chunk_count - len(counted) - len(failed),
        failed=tuple(failed[:MOST_FAILED]),
        bytes=ExpectedText(plan).total(counted, totals.bytes_read),
        bytes_counted=totals.bytes_read,
        pretokens=totals.pretokens,
        unique=manifest.totals.unique_pretokens if manifest else 0,
        retries=0,
        workers=0,
        rate=0.0,
        eta=None,
        merges=0 if plan.encoding else plan.options.merges,
        merges_made=manifest.totals.merges if manifest else 0,
        holding=False,
        planned=planned,
        started=started,
        ended=ended,
        redis_memory=0,
        unfolded=0,
        merging=None,
        records=totals.records,
        absent=totals.absent,
        more_failed=len(failed[MOST_FAILED:]),
        sources=source_views(plan, by_source) if sources else (),
        kind=plan.kind.name,
        tokens=tokens,
        documents=documents,
        written=tokens if plan.encoding and directory.complete else 0,
        exchange=None if plan.encoding else told_of(read_parts(directory.counts)),
    )


def _times(directory: RunDirectory, manifest: Manifest | None) -> tuple[float, float, float]:
    """When the run was planned, and when its last session began and ended, in Unix seconds.

    A finished run's manifest tells. Before that the times of files do: the plan is written once,
    the lock at each session's start, the history at each attempt's end and at the session's.
    """
    planned = _changed(directory.path / PLAN)
    if manifest is not None:
        # A version before did not note the end.
        ended = manifest.ended or _changed(directory.path / MANIFEST)
        started = ended - sum(took.seconds for took in manifest.stages.values())
        return min(planned, started), started, ended
    if not planned:  # what it counts still arrives
        planned = _changed(directory.path / LOCK)
    started = max(planned, _changed(directory.path / LOCK))
    return planned, started, max(started, _changed(directory.path / ATTEMPTS))


def _changed(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _failure(directory: RunDirectory, last: Attempt, attempts: int) -> Failure:
    return Failure(
        chunk=last.chunk,
        what=directory.plan.describe(last.chunk),
        attempts=attempts,
        worker=last.worker,
        kind=last.kind,
        error=last.error,
    )


def latest_of(path: Path) -> Snapshot:
    """The latest snapshot of the run in a directory, which may have no plan yet: see `spooling`.

    Raises:
        OutputError: It is no run directory, or cannot be read.
    """
    try:
        directory = RunDirectory.open(path)
    except OutputError:
        if not os.path.lexists(path / PLAN) and holder(path):
            with suppress(OSError, MessageError):
                return Snapshot.from_bytes(read_whole(path / SNAPSHOT, LARGEST))
        raise
    return latest_snapshot(directory)


def latest_snapshot(directory: RunDirectory) -> Snapshot:
    """The latest snapshot of the run in a directory.

    Raises:
        OutputError: It cannot be read.
    """
    if process := holder(directory.path):
        try:
            return Snapshot.from_bytes(read_whole(directory.path / SNAPSHOT, LARGEST))
        except (OSError, MessageError):
            begun = at_rest(directory, time.time())  # just now
            if begun.stage != DONE:
                return replace(begun, producer=process, stage=PLANNED, ended=None)
    return at_rest(directory, time.time())
