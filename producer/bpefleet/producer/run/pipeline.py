"""A run from its sources to its artifacts. Read it as the table of contents.

split → enqueue → (Redis) → count → publish → (Redis) → fold → merge → artifacts
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bpefleet.producer.encoding.place import lay_out
from bpefleet.producer.files.lock import locked
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.run.arrival import Arrival
from bpefleet.producer.run.complete import complete
from bpefleet.producer.run.ending.finish import finish
from bpefleet.producer.run.halt import stopping
from bpefleet.producer.run.planned import log_plan, planned, start_fleet
from bpefleet.producer.spooling.spool import done, is_there
from bpefleet.producer.store.claim import new_run
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.training.artifacts import warn_of_unwritten
from bpefleet.shared.errors import OutputError, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.logs import NOTICE, bind

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.planning.options import Request, Resources
    from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult


logger = logging.getLogger(__name__)


def run(request: Request) -> RunResult | EncodeResult:
    """Train a tokenizer, or encode a corpus: the whole of a new run.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    request = request.checked()
    options, resources = request.options, request.resources
    if request.encoding is not None:
        _demand_all(resources)
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with new_run(request.out) as place, stopping(request.out) as stop:
            if request.encoding is None:
                warn_of_unwritten(resolve(options.pattern))
            else:
                lay_out(request.encoding, request.encoder)
            arrival = Arrival(request, stop, place.create) if request.arrives else None
            if arrival is not None:
                directory = RunDirectory(request.out, arrival.plan)
                bind(run=arrival.plan.run)
                there = [arrival.place]
                fleet = start_fleet(stack, resources, there, request.out, request.encoding)
                _announced(fleet)
            else:
                plan, fleet = planned(request, stack, progress, stop)
                directory = place.create(plan)
                log_plan(plan, begun)
            result = complete(
                directory, resources, fleet, progress, stop, begun=begun, arrival=arrival
            )
        return finish(result, resources, fleet, progress, begun)


def resume(
    path: Path, resources: Resources, only: Collection[int] = ()
) -> RunResult | EncodeResult:
    """Go on with a run that was stopped, or whose chunks failed.

    Args:
        path: Its directory.
        resources: Who does the work.
        only: If not empty, the chunks to count; the others are left as they are.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    directory = RunDirectory.open(path)
    _clear(directory)
    _demand_unfinished(directory)
    directory.plan.check_files()
    resources = resources.checked()
    begun = Stage()
    with _progress(resources) as progress, ExitStack() as stack:
        with locked(path), stopping(path) as stop:
            _demand_unfinished(directory)  # another process may just have finished it
            bind(run=directory.plan.run)
            plan = directory.plan
            if plan.encoding is None:
                warn_of_unwritten(resolve(plan.options.pattern))
            else:
                _demand_all(resources)
            files = plan.files.one_of_each_folder
            fleet = _announced(start_fleet(stack, resources, files, path, plan.encoding))
            result = complete(directory, resources, fleet, progress, stop, begun=begun, only=only)
        return finish(result, resources, fleet, progress, begun)


def _demand_all(resources: Resources) -> None:
    if resources.allow_missing:
        raise UsageError(
            "of an encoded corpus nothing may be missing: other documents would have its numbers",
            hint="leave out --allow-missing; mend the files that fail, or start anew without them",
        )


def _progress(resources: Resources) -> Progress:
    return Progress(show=resources.progress, quiet=resources.quiet)


def _announced(fleet: Fleet | None) -> Fleet | None:
    if fleet is not None:
        fleet.announce()
    return fleet


def _clear(directory: RunDirectory) -> None:
    """Remove the spool of a finished run, which its process, killed at that moment, had left."""
    if directory.complete and is_there(directory.path):
        with locked(directory.path):
            done(directory.path)
        logger.log(NOTICE, "the spool that was left in %s is removed", directory.path)


def _demand_unfinished(directory: RunDirectory) -> None:
    if directory.complete:
        raise OutputError(
            f"{directory.path} is finished", hint="choose another directory for a new run"
        )
