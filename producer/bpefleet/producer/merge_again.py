"""Trains another tokenizer on a run's counts: other size, tie rule or limits, no counting."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bpefleet.producer.directory import RunDirectory, check_free
from bpefleet.producer.ledger import Ledger
from bpefleet.producer.lock import locked
from bpefleet.producer.merge import TrainerProcess
from bpefleet.producer.progress import Progress
from bpefleet.producer.report import report
from bpefleet.producer.run import RunResult
from bpefleet.producer.stages import Stage
from bpefleet.producer.versions import versions
from bpefleet.producer.watch import Watch
from bpefleet.shared.errors import BpefleetError, ChunksFailedError, InterruptedRunError

if TYPE_CHECKING:
    from pathlib import Path


def merge_again(path: Path, out: Path, options: dict[str, Any]) -> RunResult:
    """Train on the counts of a run whose chunks are all counted.

    Args:
        path: The run with the counts; it is not changed.
        out: The new run's directory.
        options: Those fields of `Options` that are to be others; None leaves one as it is.

    Raises:
        ChunksFailedError: Not all chunks are counted, nor accepted as missing.
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    source = RunDirectory.open(path)
    options["max_token_length"] = options["max_token_length"] or 0
    changes = {name: value for name, value in options.items() if value is not None}
    chosen = replace(source.plan.options, **changes).checked()
    check_free(out)
    start = Stage()
    ledger = Ledger(source.counts, source.plan.digest)
    missing = source.missing
    if left := set(range(len(source.plan.chunks))) - ledger.chunks - {m["chunk"] for m in missing}:
        raise ChunksFailedError(
            f"{len(left)} of {len(source.plan.chunks)} chunks of {path} are not counted",
            hint=f"finish it first: bpefleet resume {path}",
        )
    plan = replace(source.plan, run=secrets.token_hex(6), options=chosen)
    directory = RunDirectory.create(out, plan)
    try:
        with Progress(show=True) as progress, locked(out), TrainerProcess(out) as trainer:
            ledger.copy_to(directory.counts)
            watch = Watch(directory, progress)
            watch.began(start.at)
            watch.start_merging(ledger)
            facts = {
                "versions": versions(plan.engine),
                "stages": {"counts": start.took()},
                "missing": missing,
                "counts_of": source.counts_of or f"run {source.plan.run} ({path.absolute().name})",
            }
            manifest = trainer.train(facts, watch)
            watch.close()
            report(manifest, progress)
    except (BpefleetError, KeyboardInterrupt) as error:
        shutil.rmtree(out, ignore_errors=True)  # it holds nothing that `path` does not
        if isinstance(error, KeyboardInterrupt):
            raise InterruptedRunError("stopped", hint="start again") from None
        raise
    return RunResult(out, manifest)
