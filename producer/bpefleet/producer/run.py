"""A run from its sources to its artifacts. Read it as the table of contents.

split → enqueue → (Redis) → count → publish → (Redis) → fold → merge → artifacts
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpefleet.producer.count_here import count_here
from bpefleet.producer.directory import RunDirectory, check_free
from bpefleet.producer.fleet import Fleet
from bpefleet.producer.missing import all_counted
from bpefleet.producer.options import least_chunk_size
from bpefleet.producer.plan import Plan
from bpefleet.producer.progress import Progress
from bpefleet.producer.report import kept, report
from bpefleet.producer.session import Session, session
from bpefleet.producer.sources import find_files
from bpefleet.producer.split import even_chunk_size, split
from bpefleet.producer.stages import Stage
from bpefleet.producer.trainer import train_tokenizer
from bpefleet.producer.versions import versions
from bpefleet.shared.boundaries import boundaries
from bpefleet.shared.errors import BpefleetError, InterruptedRunError, OutputError, QueueError
from bpefleet.shared.patterns import resolve
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bpefleet.producer.options import Request, Resources
    from bpefleet.producer.sources import SourceFile


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
    begun = Stage()
    with Progress(show=resources.progress) as progress, ExitStack() as stack:
        files = find_files(request.sources, progress.warn)
        # The server and the workers start while the corpus is being split.
        fleet = _fleet(stack, resources, files, request.out)
        cutter = boundaries(resolve(options.pattern), options.special_tokens)
        total = sum(file.size for file in files)
        size = resources.chunk_size_for(options.pattern)
        least = least_chunk_size(options.pattern)
        size = even_chunk_size(total, size, fleet.size if fleet else 1, least=least)
        chunks = list(split(files, cutter, size, progress.warn))
        if fleet is not None:
            fleet.announce(progress.tell)
        directory = RunDirectory.create(request.out, Plan.make(options, files, chunks))
        try:
            result = _complete(directory, resources, fleet, progress, begun)
        except BpefleetError:
            directory.discard_if_untouched()
            raise
        _report(result, resources, fleet, progress)
        return result


def resume(path: Path, resources: Resources, only: Collection[int] = ()) -> RunResult:
    """Go on with a run that was stopped, or whose chunks failed.

    Args:
        path: Its directory.
        resources: Where to do the work.
        only: If not empty, the chunks to count; the others are left as they are.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    directory = RunDirectory.open(path)
    if directory.complete:
        raise OutputError(f"{path} is finished", hint="choose another directory for a new run")
    directory.plan.check_files()
    resources = resources.checked()
    begun = Stage()
    with Progress(show=resources.progress) as progress, ExitStack() as stack:
        fleet = _fleet(stack, resources, directory.plan.files, path)
        if fleet is not None:
            fleet.announce(progress.tell)
        result = _complete(directory, resources, fleet, progress, begun, only)
        _report(result, resources, fleet, progress)
        return result


def _fleet(
    stack: ExitStack, resources: Resources, files: Iterable[SourceFile], path: Path
) -> Fleet | None:
    if resources.in_process:
        return None
    return stack.enter_context(Fleet(resources, files, path))


def _complete(
    directory: RunDirectory,
    resources: Resources,
    fleet: Fleet | None,
    progress: Progress,
    begun: Stage,
    only: Collection[int] = (),
) -> RunResult:
    try:
        with session(directory, resources, progress, only) as this:
            this.watch.began(begun.at)
            if fleet is None:
                manifest = _in_process(this, begun)
            else:
                manifest = _with_fleet(this, fleet, begun)
    except KeyboardInterrupt:
        raise InterruptedRunError("stopped", hint=kept(directory)) from None
    except (OutputError, QueueError) as error:
        error.hint = f"{error.hint}; {kept(directory)}"
        raise
    progress.merged(manifest["totals"]["merges"])
    report(manifest, progress)
    return RunResult(directory.path, manifest)


def _report(
    result: RunResult, resources: Resources, fleet: Fleet | None, progress: Progress
) -> None:
    """Write the run's report, if it is to have one; the run is done whether or not it gets it."""
    if not resources.reports:
        return
    redis = fleet.url if fleet is not None and fleet.stays else None
    try:
        from bpefleet.producer.report_write import write_report  # noqa: PLC0415  slow to import

        write_report(result.directory, redis=redis, warn=progress.warn)
    except KeyboardInterrupt:
        again = f"write it with: bpefleet report {result.directory}"
        raise InterruptedRunError("the run is done, and its report is not", hint=again) from None
    except BpefleetError as error:
        progress.warn(f"the run is done, and its report failed: {error}")


def _with_fleet(this: Session, fleet: Fleet, begun: Stage) -> dict[str, Any]:
    this.watch.start_counting(this.ledger)
    # Only now: RQ, redis and asyncio are slow to import, and meanwhile the workers start.
    from bpefleet.producer.board import mirror  # noqa: PLC0415
    from bpefleet.producer.count_there import count_there  # noqa: PLC0415

    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    with this.stop.on_signals():
        try:
            failed = count_there(this, fleet)
        finally:  # from here on nobody else posts, of an error's end neither
            if fleet.stays:
                this.watch.mirror = mirror(fleet.url)
    missing = all_counted(this, failed)
    stages["count"] = (
        start.took() | _counted(this, before) | {"worker_seconds": this.ledger.totals.seconds}
    )
    this.watch.start_merging(this.ledger)
    fleet.stop()
    return fleet.trainer.train(_facts(this, stages, missing), this.watch)


def _in_process(this: Session, begun: Stage) -> dict[str, Any]:
    this.watch.start_counting(this.ledger)
    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    with this.stop.on_signals():
        failed = count_here(this)
    missing = all_counted(this, failed)
    stages["count"] = start.took() | _counted(this, before)
    this.watch.start_merging(this.ledger)
    start = Stage()
    counts = this.ledger.folded()
    this.watch.folded(len(counts))
    stages["fold"] = start.took()
    facts = _facts(this, stages, missing)
    return train_tokenizer(this.directory, counts, this.ledger.totals, facts, this.watch.merged)


def _counted(this: Session, before: int) -> dict[str, int]:
    """The bytes that this session counted, for the rates that are told of it."""
    return {"bytes": this.ledger.totals.bytes_read - before}


def _facts(this: Session, stages: dict[str, Any], missing: object) -> dict[str, Any]:
    engine = this.directory.plan.engine
    return {"versions": versions(engine), "stages": stages, "missing": missing}
