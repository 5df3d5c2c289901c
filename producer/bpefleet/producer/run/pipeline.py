"""A run from its sources to its artifacts. Read it as the table of contents.

split → enqueue → (Redis) → count → publish → (Redis) → fold → merge → artifacts
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bpefleet.producer.files.lock import locked
from bpefleet.producer.planning.options import Request
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.run.arrival import from_spool, keeping, received
from bpefleet.producer.run.complete import complete
from bpefleet.producer.run.finish import finish
from bpefleet.producer.run.halt import stopping
from bpefleet.producer.run.planned import log_plan, planned, start_fleet
from bpefleet.producer.spooling.spool import ended
from bpefleet.producer.store.claim import new_run
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.training.artifacts import warn_of_unwritten
from bpefleet.shared.errors import OutputError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.logs import bind

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from bpefleet.producer.planning.options import Resources
    from bpefleet.producer.run.outcome import RunResult
    from bpefleet.producer.spooling.spool import Spool


def run(request: Request) -> RunResult:
    """Train a tokenizer: the whole of a new run.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    request = request.checked()
    options, resources = request.options, request.resources
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with new_run(request.out) as place, stopping(request.out) as stop:
            warn_of_unwritten(resolve(options.pattern))
            request = received(request, progress, stop)
            with keeping(request.out):
                plan, fleet = planned(request, stack, progress, stop)
            directory = place.create(plan)
            log_plan(plan, begun)
            result = complete(directory, resources, fleet, progress, stop, begun=begun)
        return finish(result, resources, fleet, progress, begun)


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
        with locked(path), stopping(path) as stop:
            _demand_unfinished(directory)  # another process may just have finished it
            bind(run=directory.plan.run)
            warn_of_unwritten(resolve(directory.plan.options.pattern))
            fleet = start_fleet(stack, resources, directory.plan.files, path)
            if fleet is not None:
                fleet.announce()
            result = complete(directory, resources, fleet, progress, stop, begun=begun, only=only)
        return finish(result, resources, fleet, progress, begun)


def _resume_spooled(path: Path, spool: Spool, resources: Resources) -> RunResult:
    """Go on with a run that was stopped after everything had arrived, and before it had a plan."""
    request = from_spool(Request((), path, spool.options, resources), spool).checked()
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with locked(path), stopping(path) as stop:
            if os.path.lexists(path / PLAN):
                again = f"go on with it: bpefleet resume {path}"
                raise OutputError(f"{path} was planned by another process just now", hint=again)
            warn_of_unwritten(resolve(spool.options.pattern))
            with keeping(path):
                plan, fleet = planned(request, stack, progress, stop)
            directory = RunDirectory.create(path, plan)
            log_plan(plan, begun)
            result = complete(directory, resources, fleet, progress, stop, begun=begun)
        return finish(result, resources, fleet, progress, begun)


def _progress(resources: Resources) -> Progress:
    return Progress(show=resources.progress, quiet=resources.quiet)


def _demand_unfinished(directory: RunDirectory) -> None:
    if directory.complete:
        raise OutputError(
            f"{directory.path} is finished", hint="choose another directory for a new run"
        )
