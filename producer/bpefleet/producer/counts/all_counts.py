"""The counts of finished runs: to merge them again, to add them up, or to write them down."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bpefleet.producer.counts.join_sources import joined_sources
from bpefleet.producer.planning.columns.corpus import Corpus
from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.manifest import Missing
from bpefleet.shared.errors import ChunksFailedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from bpefleet.producer.store.directory import RunDirectory

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AddedUp:
    """The counts of some runs, as if one run had counted their corpora one after the other.

    Attributes:
        plan: The first run's, with the sources, the files and the chunks of all.
        ledgers: The counts, each with the number of its run's first chunk in `plan`, and the
            numbers of its sources there.
        missing: The chunks of `plan` that are in no ledger.
        said: The runs, in words.
    """

    plan: Plan
    ledgers: tuple[tuple[Ledger, int, tuple[int, ...]], ...]
    missing: tuple[Missing, ...]
    said: str


def all_counts(source: RunDirectory) -> Ledger:
    """A run's counts, without the chunks that it was finished without.

    Raises:
        ChunksFailedError: Others are not counted.
        OutputError: The counts are damaged, or cannot be read; or the run encodes.
    """
    source.demand_counts()
    count = source.plan.chunk_count
    missing = {one.chunk for one in (source.manifest.missing if source.manifest else ())}
    # Another process may be working on that run: nothing there is changed.
    plan = source.plan
    ledger = Ledger(
        source.counts, plan.digest, chunks=count, sources=plan.chunk_sources, tidy=False
    )
    if left := set(range(count)) - ledger.chunks - missing:
        raise ChunksFailedError(
            f"{len(left)} of {count} chunks of {source.path} are not counted",
            hint=f"finish it first: bpefleet resume {source.path}",
        )
    return ledger


def add_up(runs: Sequence[RunDirectory], weights: Mapping[str, Fraction]) -> AddedUp:
    """The counts of one or more runs together.

    Args:
        runs: Which.
        weights: Others than the sources of these names have had.

    Raises:
        UsageError: A run is named twice, or the runs did not split text in the same way; or it
            cannot be told what a source's weight is.
        ChunksFailedError: As `all_counts`.
        OutputError: Likewise.
    """
    plan = runs[0].plan
    _demand_alike(runs)
    sources, numbers = joined_sources([run.plan for run in runs], weights)
    files, ends = Files(), list[tuple[int, int]]()
    ledgers, missing = [], []
    for run, number in zip(runs, numbers, strict=True):
        ledgers.append((all_counts(run), len(ends), number))
        missing += _missing(run, len(ends))
        first = len(files)
        for file in run.plan.files:
            files.append(replace(file, source=number[file.source]))
        ends += [(first + index, place) for index, place in run.plan.chunks.ends]
    if len(runs) > 1 and (repeated := len(files) - len({file.path for file in files})):
        logger.warning("%d files are counted by more than one of the runs", repeated)
    return AddedUp(
        replace(plan, corpus=Corpus.of(files, ends), sources=sources),
        tuple(ledgers),
        tuple(missing),
        "; ".join(map(_said, runs)),
    )


def _demand_alike(sources: Sequence[RunDirectory]) -> None:
    first = sources[0]
    for number, source in enumerate(sources[1:], start=1):
        if source.plan.run in {other.plan.run for other in sources[:number]}:
            raise UsageError(f"{source.path} is named twice", hint="a run's counts are added once")
        if source.plan.digest != first.plan.digest:
            one, other = first.plan, source.plan
            pairs = (
                ("pattern", one.options.pattern, other.options.pattern),
                ("special tokens", one.options.special_tokens, other.options.special_tokens),
                ("engine", one.engine, other.engine),
            )
            unlike = "; ".join(f"{name}: {a} and {b}" for name, a, b in pairs if a != b)
            raise UsageError(
                f"{first.path} and {source.path} did not split text in the same way ({unlike})",
                hint="only counts of the same pattern, special tokens and version can be added up",
            )


def _missing(source: RunDirectory, shift: int) -> list[Missing]:
    known = source.manifest.missing if source.manifest else ()
    return [replace(one, chunk=one.chunk + shift) for one in known]


def _said(source: RunDirectory) -> str:
    before = source.manifest.counts_of if source.manifest else ""
    return before or f"run {source.plan.run} ({source.path.absolute().name})"
