"""A run from its sources to its artifacts. Read it as the table of contents.

split → enqueue → (Redis) → count → publish → (Redis) → fold → merge → artifacts
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpefleet.producer.count_here import count_here
from bpefleet.producer.directory import RunDirectory, check_free
from bpefleet.producer.fleet import Fleet
from bpefleet.producer.ledger import Ledger
from bpefleet.producer.merge import TrainerProcess
from bpefleet.producer.plan import Plan
from bpefleet.producer.progress import Progress
from bpefleet.producer.report import kept, raise_failed, report
from bpefleet.producer.sources import find_files
from bpefleet.producer.split import even_chunk_size, split
from bpefleet.producer.stages import stage
from bpefleet.producer.trainer import train_tokenizer
from bpefleet.shared.boundaries import boundaries
from bpefleet.shared.errors import BpefleetError, InterruptedRunError, OutputError, QueueError
from bpefleet.shared.patterns import resolve
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from bpefleet.producer.options import Request, Resources


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        directory: Where its files are.
        manifest: What was trained, on what, how long it took (see `artifacts`).
    """

    directory: Path
    manifest: dict[str, Any]

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The trained tokenizer."""
        return Tokenizer.load(self.directory)


def run(request: Request) -> RunResult:
    """Train a tokenizer: the whole of a new run.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    options, resources = request.options.checked(), request.resources.checked()
    check_free(request.out)
    begun = time.perf_counter()
    with Progress(show=resources.progress) as progress, ExitStack() as stack:
        files = find_files(request.sources, progress.warn)
        # The server and the workers start while the corpus is being split.
        fleet = None if resources.in_process else stack.enter_context(Fleet(resources))
        cutter = boundaries(resolve(options.pattern), options.special_tokens)
        total = sum(file.size for file in files)
        size = resources.chunk_size_for(options.pattern)
        size = even_chunk_size(total, size, fleet.size if fleet else 1)
        chunks = list(split(files, cutter, size, progress.warn))
        directory = RunDirectory.create(request.out, Plan.make(options, files, chunks))
        try:
            return _complete(directory, fleet, progress, begun)
        except BpefleetError:
            directory.discard_if_empty()
            raise


def resume(path: Path, resources: Resources) -> RunResult:
    """Go on with a run that was stopped.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    directory = RunDirectory.open(path)
    if directory.complete:
        raise OutputError(f"{path} is finished", hint="choose another directory for a new run")
    directory.plan.check_files()
    resources = resources.checked()
    begun = time.perf_counter()
    with Progress(show=resources.progress) as progress, ExitStack() as stack:
        fleet = None if resources.in_process else stack.enter_context(Fleet(resources))
        return _complete(directory, fleet, progress, begun)


def _complete(
    directory: RunDirectory, fleet: Fleet | None, progress: Progress, begun: float
) -> RunResult:
    try:
        if fleet is None:
            manifest = _in_process(directory, progress, begun)
        else:
            manifest = _with_fleet(directory, fleet, progress, begun)
    except KeyboardInterrupt:
        raise InterruptedRunError("stopped", hint=kept(directory)) from None
    except (OutputError, QueueError) as error:
        error.hint = f"{error.hint}; {kept(directory)}"
        raise
    progress.merged(manifest["totals"]["merges"])
    report(manifest, progress)
    return RunResult(directory.path, manifest)


def _with_fleet(
    directory: RunDirectory, fleet: Fleet, progress: Progress, begun: float
) -> dict[str, Any]:
    plan = directory.plan
    with TrainerProcess(directory.path) as trainer:
        ledger = Ledger(directory.counts, plan.digest)
        progress.start_counting(plan.total_bytes, ledger.totals.bytes_read)
        # Only now: RQ, redis and asyncio are slow to import, and meanwhile the workers start.
        from bpefleet.producer.count_there import count_there  # noqa: PLC0415

        stages = {"plan": stage(begun)}
        start = time.perf_counter()
        failed = count_there(plan, ledger, fleet, progress)
        if failed:
            raise_failed(directory, failed)
        ledger.settle()
        stages["count"] = stage(start) | {"worker_seconds": ledger.totals.seconds}
        # The trainer reads the counts from disk; two copies in memory serve nobody.
        del ledger
        fleet.stop()
        progress.start_merging(plan.options.merges)
        return trainer.train(stages, progress)


def _in_process(directory: RunDirectory, progress: Progress, begun: float) -> dict[str, Any]:
    plan = directory.plan
    ledger = Ledger(directory.counts, plan.digest)
    progress.start_counting(plan.total_bytes, ledger.totals.bytes_read)
    stages = {"plan": stage(begun)}
    start = time.perf_counter()
    count_here(plan, ledger, progress)
    stages["count"] = stage(start)
    progress.start_merging(plan.options.merges)
    return train_tokenizer(directory, ledger.counts, ledger.totals, stages, progress.merged)
