"""Trains another tokenizer on the counts of runs: other size, tie rule or limits, no counting."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bpefleet.producer.counts.all_counts import add_up
from bpefleet.producer.fleet.local_trainer import TrainerProcess
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.run.ending.outcome import RunResult, report
from bpefleet.producer.store.claim import new_run
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.manifest import Facts
from bpefleet.producer.store.mixture import source_views
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.store.stop import Stop
from bpefleet.producer.training.artifacts import warn_of_unwritten
from bpefleet.producer.training.milestones import Milestones
from bpefleet.producer.training.versions import versions
from bpefleet.shared.errors import InterruptedRunError
from bpefleet.shared.pretokens.patterns import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path


def merge_again(
    paths: Sequence[Path],
    out: Path,
    options: dict[str, Any],
    *,
    weights: Mapping[str, Fraction] | None = None,
    show: bool = True,
    quiet: bool = False,
) -> RunResult:
    """Train on the counts of one or more runs whose chunks are all counted, added up.

    Args:
        paths: The runs with the counts; they are not changed.
        out: The new run's directory.
        options: The fields of `Options` to change; None leaves one as the first run has it.
        weights: Other weights for sources of these names.
        show: Whether to show progress and warnings on stderr.
        quiet: Whether to show no progress.

    Raises:
        UsageError: A run is named twice, or the runs did not split text in the same way; or there
            is no source of a name in `weights`, or no weight is left for one.
        ChunksFailedError: Not all chunks are counted, nor accepted as missing.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    sources = [RunDirectory.open(path) for path in paths]
    changes = {name: value for name, value in options.items() if value is not None}
    chosen = replace(sources[0].plan.options, **changes).checked()
    start = Stage()
    try:
        with Progress(show=show, quiet=quiet) as progress, new_run(out, whole=True) as place:
            stop = Stop(out)
            warn_of_unwritten(resolve(chosen.pattern))
            counted = add_up(sources, weights or {})
            plan = replace(counted.plan, run=secrets.token_hex(6), options=chosen)
            directory = place.create(plan)
            with TrainerProcess(out) as trainer:
                Ledger.add_up(directory.counts, counted.ledgers)
                status = StatusFile(directory)
                status.began(start.at)
                view = MergingView(status, progress)
                ledger = Ledger(
                    directory.counts, plan.digest, sources=plan.chunk_sources, tidy=False
                )
                view.begin(ledger)
                facts = Facts(
                    versions=versions(plan.engine),
                    stages={"counts": start.took()},
                    missing=counted.missing,
                    counts_of=counted.said,
                    mixture=source_views(plan, ledger.by_source),
                )
                manifest = trainer.train(facts, Milestones(directory.plan), view, stop)
                status.close()
            report(manifest)
    except (KeyboardInterrupt, InterruptedRunError):
        raise InterruptedRunError("stopped", hint="start again") from None
    return RunResult(out, manifest, start.seconds)
