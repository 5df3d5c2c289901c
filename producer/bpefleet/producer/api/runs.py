"""From Python, with an existing run: go on with it, merge its counts again, ask for its status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bpefleet.producer.observing.snapshot import latest_snapshot
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.run.merge_again import merge_again
from bpefleet.producer.run.pipeline import RunResult
from bpefleet.producer.run.pipeline import resume as resume_
from bpefleet.producer.store.directory import RunDirectory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from bpefleet.shared.wire.status import Snapshot

Place: TypeAlias = "str | os.PathLike[str]"


def resume(
    directory: Place,
    *,
    workers: int | None = None,
    redis: str | None = None,
    key_file: Place | None = None,
    insecure: bool = False,
    timeout: int | None = None,
    allow_missing: float = 0.0,
    hold: bool = False,
    dashboard: bool = False,
    dashboard_stay: bool = False,
    report: bool | None = None,
    progress: bool = False,
    quiet: bool = False,
) -> RunResult:
    """Go on with a run that was stopped, or whose chunks failed. What is counted stays counted.

    Args:
        directory: The run's.
        workers: As for `train`, like all that follow.
        redis: May be another than before.
        key_file: See `train`.
        insecure: See `train`.
        timeout: See `train`.
        allow_missing: See `train`.
        hold: See `train`.
        dashboard: See `train`.
        dashboard_stay: See `train`.
        report: See `train`.
        progress: See `train`.
        quiet: See `train`.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    resources = Resources(
        redis=redis,
        workers=workers,
        timeout=timeout,
        allow_missing=allow_missing,
        hold=hold,
        key_file=None if key_file is None else Path(key_file),
        insecure=insecure,
        dashboard=dashboard,
        dashboard_stay=dashboard_stay,
        report=report,
        progress=progress,
        quiet=quiet,
    )
    return resume_(Path(directory), resources)


def merge(
    directory: Place,
    *,
    out: Place,
    vocab_size: int | None = None,
    tie_break: str | None = None,
    min_frequency: int | None = None,
    max_token_length: int | None = None,
    allow_fewer_merges: bool | None = None,
    export: Iterable[str] | None = None,
    eos_token: str | None = None,
    pad_token: str | None = None,
    bos_token: str | None = None,
    unk_token: str | None = None,
    progress: bool = False,
) -> RunResult:
    """Train another tokenizer on the counts of a run, without counting again.

    Pattern and special tokens stay: the counts depend on them. So does every option that is None.

    Args:
        directory: The run whose counts to take; it is not changed.
        out: Directory for the new run; must not exist, or be empty.
        vocab_size: As for `train`, like all that follow.
        tie_break: See `train`.
        min_frequency: See `train`.
        max_token_length: See `train`; 0 for any.
        allow_fewer_merges: See `train`.
        export: See `train`.
        eos_token: See `train`.
        pad_token: See `train`.
        bos_token: See `train`.
        unk_token: See `train`.
        progress: See `train`.

    Raises:
        ChunksFailedError: Not all chunks are counted, nor accepted as missing.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    options = {
        "vocab_size": vocab_size,
        "tie_break": tie_break,
        "min_frequency": min_frequency,
        "max_token_length": max_token_length,
        "allow_fewer_merges": allow_fewer_merges,
        "export": None if export is None else tuple(export),
        "eos_token": eos_token,
        "pad_token": pad_token,
        "bos_token": bos_token,
        "unk_token": unk_token,
    }
    return merge_again(Path(directory), Path(out), options, show=progress)


def status(directory: Place) -> Snapshot:
    """How far a run is: chunks by state, rate, time left, workers, failures.

    Raises:
        OutputError: It is no run directory, or cannot be read.
    """
    return latest_snapshot(RunDirectory.open(Path(directory)))
