"""Planning a run, while its server and its workers start."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import Cutter
from bpefleet.producer.fleet.fleet import Fleet
from bpefleet.producer.planning.chunk_size import demand_few, even_chunk_size
from bpefleet.producer.planning.listing import list_corpus
from bpefleet.producer.planning.options import least_chunk_size
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.planning.split import split_sources
from bpefleet.producer.progress.step import Step
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.process.logs import bind
from bpefleet.shared.wire.encoding import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import ExitStack
    from pathlib import Path

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.planning.options import Request, Resources
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.stage import Stage
    from bpefleet.producer.store.stop import Stop
    from bpefleet.shared.wire.encoding import Encoding

logger = logging.getLogger(__name__)

_PLAN: Final = Step("plan", facts=("looking at the sources",))


def planned(
    request: Request, stack: ExitStack, progress: Progress, stop: Stop
) -> tuple[Plan, Fleet | None]:
    """Plan a run. The server and the workers start while its corpus is being split."""
    options, resources = request.options, request.resources
    progress.show(_PLAN)
    sources, files = list_corpus(request, stop.check)
    total = files.text
    if resources.chunk_size is not None:
        demand_few(total, resources.chunk_size)
    fleet = start_fleet(stack, resources, files.one_of_each_folder, request.out, request.encoding)
    cutter = Cutter(resolve(options.pattern).name, options.special_tokens)
    # A text of which only some documents are counted, or each is measured, is cut between these.
    special = Cutter("", options.special_tokens)
    length = resources.chunk_size_for(options.pattern)
    least = least_chunk_size(options.pattern)
    length = even_chunk_size(total, length, fleet.size if fleet else 1, least=least)
    whole = request.encoding is not None and request.encoding.format == MEASURED
    cutters = [special if source.sampled or whole else cutter for source in sources]
    chunks = stop.checked(split_sources(files, cutters, length))
    plan = Plan.make(options, files, chunks, sources, request.encoding)
    if fleet is not None:
        fleet.announce()
    return plan, fleet


def start_fleet(
    stack: ExitStack,
    resources: Resources,
    files: Iterable[SourceFile],
    path: Path,
    encoding: Encoding | None = None,
) -> Fleet | None:
    """Start what the run needs, to be ended with `stack`; None if it needs no other process."""
    if resources.in_process:
        return None
    return stack.enter_context(Fleet(resources, files, path, encoding))


def log_plan(plan: Plan, begun: Stage) -> None:
    """Say in the log what is planned; from now on each line has the run's name."""
    bind(run=plan.run)
    formats = plan.files.formats_of
    of_each = ", ".join(f"{count:,} {name}" for name, count in sorted(formats.items()))
    others = f" ({of_each})" if set(formats) - {TEXT} else ""
    logger.info(
        "run %s is planned: %s of %s in all, from %s%s",
        plan.run,
        several(plan.chunk_count, "chunk"),
        size(plan.total_bytes),
        several(plan.totals.files, "file"),
        others,
        extra={
            "run": plan.run,
            "chunks": plan.chunk_count,
            "bytes": plan.total_bytes,
            "files": plan.totals.files,
            "formats": formats,
            "seconds": round(begun.seconds, 3),
        },
    )
