"""The first stage of every run: its chunks are counted, or encoded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import structs

from bpefleet.producer.counting.in_process import count_here
from bpefleet.producer.run.ending.absent_text import demand_text
from bpefleet.producer.run.ending.missing import all_counted
from bpefleet.producer.store.stage import Stage
from bpefleet.shared.process.amounts import size

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.run.arrival import Arrival
    from bpefleet.producer.store.manifest import Missing
    from bpefleet.producer.store.stage import Took
    from bpefleet.shared.wire.messages import Failed

logger = logging.getLogger(__name__)


def do_chunks(
    this: Session, fleet: Fleet | None, begun: Stage, arrival: Arrival | None
) -> tuple[dict[str, Took], tuple[Missing, ...]]:
    """Have all chunks done that are not.

    Args:
        this: The run.
        fleet: Whose workers do it; None for this process.
        begun: When the run began.
        arrival: Lets the corpus arrive that is no file.

    Returns:
        What each stage took, and the chunks that are missing and may be.

    Raises:
        BpefleetError: See `missing.all_counted`, `absent_text.demand_text` and what counts.
    """
    this.counting.show_counted()
    if fleet is not None:
        # Imported only now: RQ, redis and asyncio are slow to import, and meanwhile workers start.
        from bpefleet.producer.counting.through_redis import count as through_redis  # noqa: F401, PLC0415
    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    meanwhile = _receiving(this, arrival, stages)
    with this.stop.on_signals():
        failed = count_here(this, meanwhile) if fleet is None else _there(this, fleet, meanwhile)
    missing = all_counted(this, failed)
    demand_text(this)
    totals = this.ledger.totals
    took = _counting(start, totals.bytes_read - before, stages)
    if fleet is not None:
        took = structs.replace(took, worker_seconds=totals.seconds, worker_peak_rss=totals.peak_rss)
    stages[this.directory.plan.kind.name] = took
    _log_done(this, took)
    return stages, missing


def _there(this: Session, fleet: Fleet, meanwhile: Callable[[], None] | None) -> dict[int, Failed]:
    from bpefleet.producer.counting.through_redis.count import count_there  # noqa: PLC0415  see above
    from bpefleet.producer.observing.posting import mirror  # noqa: PLC0415

    try:
        return count_there(this, fleet, this.directory.plan.kind, meanwhile)
    finally:  # after counting, even after an error, this process posts the snapshots
        if fleet.stays:
            this.status.mirror = mirror(fleet.url)


def _receiving(
    this: Session, arrival: Arrival | None, stages: dict[str, Took]
) -> Callable[[], None] | None:
    """What lets the corpus arrive, and notes how long that took; None if it is there."""
    if arrival is None:
        return None

    def receive() -> None:
        stages["spool"] = arrival.receive(this.ledger)

    return receive


def _counting(start: Stage, counted: int, stages: dict[str, Took]) -> Took:
    """The stage of counting: of what arrived, the part of it after everything had arrived."""
    took = structs.replace(start.took(), bytes=counted)
    return took.after(stages["spool"]) if "spool" in stages else took


def _log_done(this: Session, stage: Took) -> None:
    totals, encodes = this.ledger.totals, this.directory.plan.encoding is not None
    what, number = ("tokens", this.ledger.tokens) if encodes else ("pretokens", totals.pretokens)
    logger.info(
        "%s is done: %s of text, %s %s",
        "encoding" if encodes else "counting",
        size(totals.bytes_read),
        f"{number:,}",
        "tokens" if encodes else "pre-tokens",
        extra={
            "run": this.directory.plan.run,
            "bytes": totals.bytes_read,
            what: number,
            "seconds": stage.seconds,
        },
    )
