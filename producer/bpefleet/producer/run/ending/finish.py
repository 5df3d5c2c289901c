"""What follows on a finished run: its report, and the page that may stay."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bpefleet.producer.files.lock import locked
from bpefleet.producer.progress.step import Step
from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult
from bpefleet.producer.spooling.spool import done, is_there
from bpefleet.producer.store.stage import Stage
from bpefleet.shared.errors import BpefleetError, InterruptedRunError
from bpefleet.shared.process.logs import NOTICE

if TYPE_CHECKING:
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.planning.options import Resources
    from bpefleet.producer.progress.progress import Progress

logger = logging.getLogger(__name__)

Result: TypeAlias = RunResult | EncodeResult

_REPORT: Final = Step("write", facts=("the report",))


def finish(
    result: Result, resources: Resources, fleet: Fleet | None, progress: Progress, begun: Stage
) -> Result:
    """What follows on a finished run: the report, which reads the corpus, and the page."""
    with ExitStack() as stack:
        if is_there(result.directory):  # whoever resumes a finished run removes its spool
            stack.enter_context(locked(result.directory))
        result = replace(_reported(result, resources, fleet, progress), seconds=begun.seconds)
        done(result.directory)
    _stay(fleet, resources)
    return result


def _reported(
    result: Result, resources: Resources, fleet: Fleet | None, progress: Progress
) -> Result:
    if isinstance(result, RunResult):
        return _report(result, resources, fleet, progress)
    return result


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


def _stay(fleet: Fleet | None, resources: Resources) -> None:
    """Keep serving the page until somebody ends it, if that was asked for."""
    if fleet is not None and fleet.dashboard is not None and resources.dashboard_stay:
        logger.log(NOTICE, "the run is done; the page stays until Ctrl-C")
        fleet.dashboard.wait()
