"""Stops a run, wherever its process is."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.lock import holder, lock_id
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.stop import ask_cancel
from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE: Final = 3600.0


def cancel(path: Path, redis: str | None) -> str:
    """Ask the process of a run to end, and wait until it has.

    Args:
        path: The run's directory.
        redis: If no process works on it: the Redis where one may have left jobs.

    Returns:
        What was done, in words.

    Raises:
        OutputError: It is no run directory, or its process does not end.
    """
    if (lock := lock_id(path)) is None:
        return _at_rest(RunDirectory.open(path), redis)
    process = holder(path) or "the process"
    deadline = time.monotonic() + _PATIENCE
    asked = None
    while lock is not None:
        if lock != asked:  # it was locked just now, and the file did not yet say by whom
            _ask(path, lock)
            asked = lock
        if time.monotonic() > deadline:
            raise OutputError(f"{process} does not end", hint="end it there")
        time.sleep(0.1)
        lock = lock_id(path)
    if not os.path.lexists(path / PLAN):
        return f"stopped {process}; nothing is left of the run"
    directory = RunDirectory.open(path)
    if directory.complete:
        return f"{path} was finished before it could be stopped"
    return f"stopped {process}; {_go_on(directory)}"


def _ask(path: Path, lock: bytes) -> None:
    try:
        ask_cancel(path, lock)
    except OutputError:
        if lock_id(path) is not None:  # otherwise it ended just now, and removed its directory
            raise


def _at_rest(directory: RunDirectory, redis: str | None) -> str:
    path = directory.path
    state = f"{path} is finished" if directory.complete else f"no process works on {path}"
    if redis is not None:
        return f"{state}; {_withdraw(directory, redis)} jobs taken off the queue"
    return state if directory.complete else f"{state}; {_go_on(directory)}"


def _go_on(directory: RunDirectory) -> str:
    what = "what was counted is kept" if directory.has_counts else "nothing was counted yet"
    return f"{what}; go on with it: bpefleet resume {directory.path}"


def _withdraw(directory: RunDirectory, redis: str) -> int:
    from bpefleet.producer.queueing.enqueue import Enqueuer  # noqa: PLC0415  RQ is slow to import
    from bpefleet.shared.redis.connect import check, connect  # noqa: PLC0415  likewise
    from bpefleet.shared.wire.kinds import KINDS  # noqa: PLC0415  likewise

    check(redis)
    with connect(redis) as connection:
        queues = [Enqueuer(connection, directory.plan, kind=kind) for kind in KINDS.values()]
        return sum(queue.clear() for queue in queues)
