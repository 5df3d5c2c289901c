"""Stops a run, wherever its process is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bpefleet.producer.directory import RunDirectory
from bpefleet.producer.files import create
from bpefleet.producer.lock import holder
from bpefleet.producer.report import kept
from bpefleet.producer.stop import CANCEL
from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE: Final = 3600.0


def cancel(path: Path, redis: str | None) -> str:
    """Ask the process of a run to end, and wait until it has.

    Args:
        path: The run's directory.
        redis: If no process is at it: the Redis where one may have left jobs.

    Returns:
        What was done, in words.

    Raises:
        OutputError: It is no run directory, or its process does not end.
    """
    directory = RunDirectory.open(path)
    process = holder(path)
    if process is None:
        if redis is None:
            return f"no process works on {path}; {kept(directory)}"
        return f"no process works on {path}; {_withdraw(directory, redis)} jobs taken off the queue"
    create(path / CANCEL).close()
    deadline = time.monotonic() + _PATIENCE
    while holder(path) is not None:
        if time.monotonic() > deadline:
            raise OutputError(f"{process} does not end", hint="end it there")
        time.sleep(0.1)
    if directory.complete:
        return f"{path} was finished before it could be stopped"
    return f"stopped {process}; {kept(directory)}"


def _withdraw(directory: RunDirectory, redis: str) -> int:
    from bpefleet.producer.enqueue import Enqueuer  # noqa: PLC0415  RQ is slow to import
    from bpefleet.shared.connect import check, connect  # noqa: PLC0415  likewise

    check(redis)
    with connect(redis) as connection:
        return Enqueuer(connection, directory.plan).clear()
