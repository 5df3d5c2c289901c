"""From Python, with an existing run: go on with it, merge its counts again, ask for its status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from bpefleet.producer.counts.merge_again import merge_again
from bpefleet.producer.observing.snapshot import latest_of
from bpefleet.producer.planning.mixture.weights import exact
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.run.pipeline import resume as resume_

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Unpack

    from bpefleet.producer.api.keywords import Merging, Work
    from bpefleet.producer.planning.mixture.source import Number
    from bpefleet.producer.run.ending.outcome import RunResult
    from bpefleet.shared.wire.shown.status import Snapshot

Place: TypeAlias = "str | os.PathLike[str]"


def resume(directory: Place, **work: Unpack[Work]) -> RunResult:
    """Go on with a run that was stopped, or whose chunks failed. What is counted stays counted.

    Args:
        directory: The run's.
        work: `workers`, `redis`, `key_file`, `insecure`, `timeout`, `allow_missing`, `hold`,
            `dashboard`, `dashboard_stay`, `report`, `exchange`, `progress`, `quiet`: as for
            `train`. They may be others than before.

    Returns:
        The finished run; an `EncodeResult` of one that encodes.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    given: dict[str, Any] = {**work}
    if (key_file := work.get("key_file")) is not None:
        given["key_file"] = Path(key_file)
    return cast("RunResult", resume_(Path(directory), Resources(**given)))


def merge(
    directory: Place,
    *more: Place,
    out: Place,
    weights: Mapping[str, Number] | None = None,
    progress: bool = False,
    **options: Unpack[Merging],
) -> RunResult:
    """Train another tokenizer on the counts of one or more runs, without counting again.

    Pattern and special tokens stay, and must be the same in all: the counts depend on them. So does
    every option that is not given, or None, as the first run has it.

    Args:
        directory: The run whose counts to take; it is not changed.
        more: Further runs, whose counts are added.
        out: Directory for the new run; must not exist, or be empty.
        weights: Other weights for the sources of these names, see `Source`. Sources of the same
            name are added up; without this they must have the same weight in all runs.
        progress: As for `train`.
        options: `vocab_size`, `tie_break`, `min_frequency`, `max_token_length` (0 for any),
            `allow_fewer_merges`, `export`, `eos_token`, `pad_token`, `bos_token`, `unk_token`: as
            for `train`.

    Raises:
        UsageError: A run is named twice, or they did not split text in the same way; or a source's
            weight is none, or cannot be told.
        ChunksFailedError: Not all chunks are counted, nor accepted as missing.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    given: dict[str, Any] = {**options}
    if (export := options.get("export")) is not None:
        given["export"] = tuple(export)
    exactly = {name: exact(weight, f"{name}: weight") for name, weight in (weights or {}).items()}
    paths = [*map(Path, (directory, *more))]
    return merge_again(paths, Path(out), given, weights=exactly, show=progress)


def status(directory: Place) -> Snapshot:
    """How far a run is: chunks by state, rate, time left, workers, failures.

    Raises:
        OutputError: It is no run directory, or cannot be read.
    """
    return latest_of(Path(directory))
