"""A run from its sources to its artifacts. Read it as the table of contents.

split → enqueue → (Redis) → count → publish → (Redis) → fold → merge → artifacts
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from bpefleet.kernel import Cutter
from bpefleet.producer.counting.in_process import count_here
from bpefleet.producer.counting.session import Session, session
from bpefleet.producer.files.lock import locked
from bpefleet.producer.fleet.fleet import Fleet
from bpefleet.producer.planning.chunk_size import demand_few, even_chunk_size
from bpefleet.producer.planning.options import Request, least_chunk_size
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.planning.sources import find_files
from bpefleet.producer.planning.split import split
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.progress.step import Step
from bpefleet.producer.run.absent_text import demand_text
from bpefleet.producer.run.arrival import from_spool, keeping, received
from bpefleet.producer.run.halt import Halt
from bpefleet.producer.run.missing import all_counted
from bpefleet.producer.run.outcome import kept, report
from bpefleet.producer.spooling.spool import done, ended
from bpefleet.producer.store.claim import new_run
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.manifest import Facts, Manifest
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.store.stop import Stop
from bpefleet.producer.training.artifacts import warn_of_unwritten
from bpefleet.producer.training.milestones import Milestones
from bpefleet.producer.training.trainer import train_tokenizer
from bpefleet.producer.training.versions import versions
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.errors import (
    BpefleetError,
    InterruptedRunError,
    OutputError,
    QueueError,
)
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.process.logs import NOTICE, bind
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from bpefleet.producer.planning.options import Resources
    from bpefleet.producer.planning.sources import SourceFile
    from bpefleet.producer.spooling.spool import Spool
    from bpefleet.producer.store.manifest import Missing
    from bpefleet.producer.store.stage import Took
    from bpefleet.producer.training.sample_tokens import Picked

logger = logging.getLogger(__name__)

_PLAN = Step("plan", facts=("looking at the sources",))
_REPORT = Step("write", facts=("the report",))


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        directory: Where its files are.
        trained: What was trained, on what, how long it took.
        seconds: How long this process took.
        report: The run's report; None if there is none.
        report_seconds: How long writing the report took.
    """

    directory: Path
    trained: Manifest
    seconds: float = 0.0
    report: Path | None = None
    report_seconds: float = 0.0

    @property
    def manifest(self) -> dict[str, Any]:
        """The same as `manifest.json` has it."""
        return self.trained.to_json()

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The trained tokenizer."""
        return Tokenizer.load(self.directory)


def run(request: Request) -> RunResult:
    """Train a tokenizer: the whole of a new run.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    request = request.checked()
    options, resources = request.options, request.resources
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with new_run(request.out) as place, _stopping(request.out) as stop:
            warn_of_unwritten(resolve(options.pattern))
            request = received(request, progress, stop)
            with keeping(request.out):
                plan, fleet = _planned(request, stack, progress, stop)
            directory = place.create(plan)
            _log_plan(plan, begun)
            result = _complete(directory, resources, fleet, progress, stop, begun=begun)
        return _ended(result, resources, fleet, progress, begun)


def _planned(
    request: Request, stack: ExitStack, progress: Progress, stop: Stop
) -> tuple[Plan, Fleet | None]:
    """Plan a run. The server and the workers start while its corpus is being split."""
    options, resources = request.options, request.resources
    progress.show(_PLAN)
    files = find_files(
        request.sources,
        out=request.out,
        asked=request.format,
        text_field=options.text_field,
        check=stop.check,
    )
    total = sum(file.text for file in files)
    if resources.chunk_size is not None:
        demand_few(total, resources.chunk_size)
    fleet = _fleet(stack, resources, files, request.out)
    cutter = Cutter(resolve(options.pattern).name, options.special_tokens)
    length = resources.chunk_size_for(options.pattern)
    least = least_chunk_size(options.pattern)
    length = even_chunk_size(total, length, fleet.size if fleet else 1, least=least)
    chunks = list(stop.checked(split(files, cutter, length)))
    if fleet is not None:
        fleet.announce()
    return Plan.make(options, files, chunks), fleet


def resume(path: Path, resources: Resources, only: Collection[int] = ()) -> RunResult:
    """Go on with a run that was stopped, or whose chunks failed.

    Args:
        path: Its directory.
        resources: Who does the work.
        only: If not empty, the chunks to count; the others are left as they are.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    if not os.path.lexists(path / PLAN) and (spool := ended(path)) is not None:
        return _resume_spooled(path, spool, resources)
    directory = RunDirectory.open(path)
    _demand_unfinished(directory)
    directory.plan.check_files()
    resources = resources.checked()
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with locked(path), _stopping(path) as stop:
            _demand_unfinished(directory)  # another process may just have finished it
            bind(run=directory.plan.run)
            warn_of_unwritten(resolve(directory.plan.options.pattern))
            fleet = _fleet(stack, resources, directory.plan.files, path)
            if fleet is not None:
                fleet.announce()
            result = _complete(directory, resources, fleet, progress, stop, begun=begun, only=only)
        return _ended(result, resources, fleet, progress, begun)


def _resume_spooled(path: Path, spool: Spool, resources: Resources) -> RunResult:
    """Go on with a run that was stopped after everything had arrived, and before it had a plan."""
    request = from_spool(Request((), path, spool.options, resources), spool).checked()
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with locked(path), _stopping(path) as stop:
            if os.path.lexists(path / PLAN):
                again = f"go on with it: bpefleet resume {path}"
                raise OutputError(f"{path} was planned by another process just now", hint=again)
            warn_of_unwritten(resolve(spool.options.pattern))
            with keeping(path):
                plan, fleet = _planned(request, stack, progress, stop)
            directory = RunDirectory.create(path, plan)
            _log_plan(plan, begun)
            result = _complete(directory, resources, fleet, progress, stop, begun=begun)
        return _ended(result, resources, fleet, progress, begun)


def _ended(
    result: RunResult, resources: Resources, fleet: Fleet | None, progress: Progress, begun: Stage
) -> RunResult:
    """What follows on a finished run: the report, which reads the corpus, and the page."""
    result = replace(_report(result, resources, fleet, progress), seconds=begun.seconds)
    done(result.directory)
    _stay(fleet, resources)
    return result


def _progress(resources: Resources) -> Progress:
    return Progress(show=resources.progress, quiet=resources.quiet)


def _log_plan(plan: Plan, begun: Stage) -> None:
    bind(run=plan.run)
    formats = Counter(file.format for file in plan.files)
    of_each = ", ".join(f"{count:,} {name}" for name, count in sorted(formats.items()))
    others = f" ({of_each})" if set(formats) - {TEXT} else ""
    logger.info(
        "run %s is planned: %s of %s in all, from %s%s",
        plan.run,
        several(len(plan.chunks), "chunk"),
        size(plan.total_bytes),
        several(len(plan.files), "file"),
        others,
        extra={
            "run": plan.run,
            "chunks": len(plan.chunks),
            "bytes": plan.total_bytes,
            "files": len(plan.files),
            "formats": dict(formats),
            "seconds": round(begun.seconds, 3),
        },
    )


def _stay(fleet: Fleet | None, resources: Resources) -> None:
    """Keep serving the page until somebody ends it, if that was asked for."""
    if fleet is not None and fleet.dashboard is not None and resources.dashboard_stay:
        logger.log(NOTICE, "the run is done; the page stays until Ctrl-C")
        fleet.dashboard.wait()


def _demand_unfinished(directory: RunDirectory) -> None:
    if directory.complete:
        raise OutputError(
            f"{directory.path} is finished", hint="choose another directory for a new run"
        )


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
    stop: Stop,
    *,
    begun: Stage,
    only: Collection[int] = (),
) -> RunResult:
    try:
        with session(directory, resources, progress, stop, only) as this:
            this.status.began(begun.at)
            if this.ledger.chunks:
                text = "%d of %s are counted already"
                chunks = several(len(directory.plan.chunks), "chunk")
                logger.info(
                    text, len(this.ledger.chunks), chunks, extra={"run": directory.plan.run}
                )
            stop.check()
            text = "counting begins: %s to count"
            todo = several(len(this.todo), "chunk")
            logger.info(text, todo, extra={"run": directory.plan.run, "chunks": len(this.todo)})
            if fleet is None:
                manifest = _in_process(this, begun)
            else:
                manifest = _with_fleet(this, fleet, begun)
    except KeyboardInterrupt:
        raise InterruptedRunError("stopped", hint=kept(directory)) from None
    except InterruptedRunError as error:
        error.hint = error.hint or kept(directory)
        raise
    except (OutputError, QueueError) as error:
        error.hint = "; ".join(filter(None, (error.hint, kept(directory))))
        raise
    names = several(len(manifest.files), "file")
    about = {"run": directory.plan.run, "seconds": round(begun.seconds, 3)}
    logger.info("the tokenizer is written to %s: %s", directory.path, names, extra=about)
    report(manifest)
    return RunResult(directory.path, manifest)


def _report(
    result: RunResult, resources: Resources, fleet: Fleet | None, progress: Progress
) -> RunResult:
    """Write the run's report, if it is to have one. If that fails, the run is done all the same."""
    if not resources.reports:
        return result
    redis = fleet.url if fleet is not None and fleet.stays else None
    progress.show(_REPORT)
    start = Stage()
    try:
        from bpefleet.producer.reports.write import write_report  # noqa: PLC0415  slow to import

        written = write_report(result.directory, redis=redis)
    except KeyboardInterrupt:
        again = f"write it with: bpefleet report {result.directory}"
        raise InterruptedRunError("the run is done, and its report is not", hint=again) from None
    except BpefleetError as error:
        logger.warning("the run is done, and its report failed: %s", error)
        return result
    logger.info("the report is written: %s", written[-1], extra={"seconds": start.seconds})
    return replace(result, report=written[-1], report_seconds=start.seconds)


def _with_fleet(this: Session, fleet: Fleet, begun: Stage) -> Manifest:
    this.counting.show_counted()
    # Imported only now: RQ, redis and asyncio are slow to import, and meanwhile workers start.
    from bpefleet.producer.counting.through_redis import count_there  # noqa: PLC0415
    from bpefleet.producer.observing.posting import mirror  # noqa: PLC0415

    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    with this.stop.on_signals():
        try:
            failed = count_there(this, fleet)
        finally:  # after counting, even after an error, this process posts the snapshots
            if fleet.stays:
                this.status.mirror = mirror(fleet.url)
    missing = all_counted(this, failed)
    demand_text(this)
    totals = this.ledger.totals
    stages["count"] = structs.replace(
        start.took(),
        bytes=totals.bytes_read - before,
        worker_seconds=totals.seconds,
        worker_peak_rss=totals.peak_rss,
    )
    _log_counts(this, stages["count"])
    this.merging.begin(this.ledger)
    fleet.stop()
    milestones = Milestones(this.directory.plan)
    return fleet.trainer.train(_facts(this, stages, missing), milestones, this.merging, this.stop)


def _in_process(this: Session, begun: Stage) -> Manifest:
    this.counting.show_counted()
    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    with this.stop.on_signals():
        failed = count_here(this)
    missing = all_counted(this, failed)
    demand_text(this)
    counted = this.ledger.totals.bytes_read - before
    stages["count"] = structs.replace(start.took(), bytes=counted)
    _log_counts(this, stages["count"])
    this.merging.begin(this.ledger)
    start = Stage()
    counts = this.ledger.folded()
    this.merging.folded(len(counts))
    stages["fold"] = start.took()
    facts = _facts(this, stages, missing)
    milestones = Milestones(this.directory.plan)

    def merged(merges: int, tokens: Picked) -> None:
        milestones.made(merges)
        this.merging.merged(merges, tokens)
        this.stop.check()

    def writing() -> None:
        milestones.over()
        this.merging.writing()

    return train_tokenizer(this.directory, counts, this.ledger.totals, facts, merged, writing)


@contextmanager
def _stopping(path: Path) -> Iterator[Stop]:
    """What stops a run early: a signal, a file in its directory, a cancelled task."""
    stop = Stop(path)

    def heed(asked: int) -> None:
        stop.now = asked > 1
        stop.request()

    with Halt.current().heeded_by(heed):
        yield stop


def _log_counts(this: Session, stage: Took) -> None:
    totals = this.ledger.totals
    logger.info(
        "counting is done: %s of text, %s pre-tokens",
        size(totals.bytes_read),
        f"{totals.pretokens:,}",
        extra={
            "run": this.directory.plan.run,
            "bytes": totals.bytes_read,
            "pretokens": totals.pretokens,
            "seconds": stage.seconds,
        },
    )


def _facts(this: Session, stages: dict[str, Took], missing: tuple[Missing, ...]) -> Facts:
    return Facts(versions(this.directory.plan.engine), stages, missing)
