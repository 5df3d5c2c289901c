"""Doing what is left of a planned run; whatever ends it early says how to go on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bpefleet.producer.counting.session import session
from bpefleet.producer.run.count_and_merge import in_process, with_fleet
from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult, kept, report
from bpefleet.shared.errors import InterruptedRunError, OutputError, QueueError
from bpefleet.shared.process.amounts import several
from bpefleet.shared.wire.kinds import ENCODE, EVALUATE

if TYPE_CHECKING:
    from collections.abc import Collection

    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.planning.options import Resources
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.run.arrival import Arrival
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.stage import Stage
    from bpefleet.producer.store.stop import Stop

logger = logging.getLogger(__name__)

_WRITTEN: Final = {ENCODE.name: "shards", EVALUATE.name: "sums"}


def complete(
    directory: RunDirectory,
    resources: Resources,
    fleet: Fleet | None,
    progress: Progress,
    stop: Stop,
    *,
    begun: Stage,
    only: Collection[int] = (),
    arrival: Arrival | None = None,
) -> RunResult | EncodeResult:
    """Count what is not counted, merge, and write the tokenizer.

    Args:
        directory: The run, whose lock is held.
        resources: Who does the work.
        fleet: The server, the workers and the trainer; None to do all in this process.
        progress: Shows how far it is.
        stop: May end it.
        begun: When the run began, in this process.
        only: If not empty, the chunks to count; the others are left as they are.
        arrival: Lets the corpus arrive that is no file; None if it is there.

    Raises:
        InterruptedRunError: Somebody asked to stop.
        BpefleetError: It cannot be done; the hint says how to go on.
    """
    try:
        arrived = arrival.arrived if arrival else None
        with session(directory, resources, progress, stop, only, arrived) as this:
            this.status.began(begun.at)
            if this.ledger.chunks:
                text = "%d of %s are %s already"
                chunks = several(directory.plan.chunk_count, "chunk")
                logger.info(
                    text,
                    len(this.ledger.chunks),
                    chunks,
                    directory.plan.kind.done,
                    extra={"run": directory.plan.run},
                )
            stop.check()
            kind = directory.plan.kind
            text = f"{kind.doing} begins: %s to {kind.name}"
            todo = "what arrives" if arrival else several(len(this.todo), "chunk")
            logger.info(text, todo, extra={"run": directory.plan.run, "chunks": len(this.todo)})
            if (encoding := directory.plan.encoding) is not None:
                # Training need not wait for all that writes shards.
                from bpefleet.producer.run.encode_and_write import encode_and_write  # noqa: PLC0415

                index = encode_and_write(this, fleet, begun, arrival)
                logger.info("the %s are written to %s", _WRITTEN[kind.name], encoding.place)
                return EncodeResult(directory.path, encoding.place, index)
            if fleet is None:
                manifest = in_process(this, begun, arrival)
            else:
                manifest = with_fleet(this, fleet, begun, arrival)
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
