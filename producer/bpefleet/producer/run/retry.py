"""Counts the failed chunks of a run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.counting.through_redis.requests import ask_retry
from bpefleet.producer.files.lock import holder
from bpefleet.producer.observing.snapshot import failures
from bpefleet.producer.run.pipeline import resume
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.opening import read_settled
from bpefleet.shared.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.producer.planning.options import Resources
    from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult


def retry(
    path: Path, chunks: Sequence[int], resources: Resources
) -> RunResult | EncodeResult | None:
    """Count failed chunks again, with a new set of retries, and finish the run.

    If a process is working on the run, that process is asked to do it.

    Args:
        path: The run's directory.
        chunks: Which; empty for all that failed.
        resources: Who does the work, and other values for `errors` and `timeout`, if any.

    Returns:
        The finished run; None if a process was asked.

    Raises:
        OutputError: The run is finished.
        UsageError: No chunk failed, or one of `chunks` did not; or options are to change, and a
            process is working on the run.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    directory = RunDirectory.open(path)
    if directory.complete:
        raise OutputError(f"{path} is finished", hint="choose another directory for a new run")
    process = holder(path)
    if process and (
        resources.errors or resources.timeout or resources.serves_page or resources.report
    ):
        raise UsageError(
            f"{process} is at {path} and keeps its options",
            hint=f"stop it first: bpefleet cancel {path}",
        )
    failed = _failed(directory, chunks, busy=process is not None)
    if process:
        ask_retry(path, chunks)
        return None
    return resume(path, resources, chunks or failed)


def _failed(directory: RunDirectory, chunks: Sequence[int], *, busy: bool) -> set[int]:
    """The chunks that failed; `chunks` must be among them."""
    path, count = directory.path, directory.plan.chunk_count
    if odd := [chunk for chunk in chunks if not 0 <= chunk < count]:
        raise UsageError(f"there is no chunk {odd[0]}", hint=f"{path} has chunks 0 to {count - 1}")
    counted, *_ = read_settled(directory)
    failed = {failure.chunk for failure in failures(directory, counted)}
    if not failed:
        go_on = f"watch it: bpefleet status {path}" if busy else f"go on: bpefleet resume {path}"
        raise UsageError(f"no chunk of {path} has failed", hint=go_on)
    if odd := sorted(set(chunks) - failed):
        raise UsageError(
            f"not failed: {', '.join(map(str, odd))}",
            hint=f"see which are: bpefleet failed {path}",
        )
    return failed
