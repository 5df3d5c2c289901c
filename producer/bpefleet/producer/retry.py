"""Counts the failed chunks of a run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.directory import RunDirectory
from bpefleet.producer.ledger_files import read_index
from bpefleet.producer.lock import holder
from bpefleet.producer.requests import ask_retry
from bpefleet.producer.run import RunResult, resume
from bpefleet.producer.snapshot import failures
from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.producer.options import Resources


def retry(path: Path, chunks: Sequence[int], resources: Resources) -> RunResult | None:
    """Count failed chunks again, with fresh retries, and finish the run if all is there.

    If a process is at the run, it is asked to do so.

    Args:
        path: The run's directory.
        chunks: Which; empty for all that failed.
        resources: Where to do the work, and `errors` and `timeout` if they are to be others.

    Returns:
        The finished run; None if a process was asked.

    Raises:
        UsageError: No chunk failed, or one of `chunks` did not; or a process is at the run, and
            options are to be others.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    directory = RunDirectory.open(path)
    if process := holder(path):
        if resources.errors or resources.timeout or resources.dashboard or resources.report:
            raise UsageError(
                f"{process} is at {path} and keeps its options",
                hint=f"stop it first: bpefleet cancel {path}",
            )
        ask_retry(path, chunks)
        return None
    counted, _ = read_index(directory.counts)
    failed = {failure.chunk for failure in failures(directory, counted)}
    if not failed:
        raise UsageError(
            f"no chunk of {path} has failed", hint=f"go on with it: bpefleet resume {path}"
        )
    if odd := set(chunks) - failed:
        raise UsageError(
            f"not failed: {', '.join(map(str, sorted(odd)))}",
            hint=f"see which are: bpefleet failed {path}",
        )
    return resume(path, resources, chunks or failed)
