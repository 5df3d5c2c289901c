"""The two stages of every run, with a fleet or in this process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import structs

from bpefleet.producer.counting.in_process import count_here
from bpefleet.producer.run.ending.absent_text import demand_text
from bpefleet.producer.run.ending.missing import all_counted
from bpefleet.producer.store.manifest import Facts
from bpefleet.producer.store.mixture import source_views, weighted_counts
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.training.milestones import Milestones
from bpefleet.producer.training.trainer import train_tokenizer
from bpefleet.producer.training.versions import versions
from bpefleet.shared.process.amounts import size

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.run.arrival import Arrival
    from bpefleet.producer.store.manifest import Manifest, Missing
    from bpefleet.producer.store.stage import Took
    from bpefleet.producer.training.sample_tokens import Picked

logger = logging.getLogger(__name__)


def with_fleet(
    this: Session, fleet: Fleet, begun: Stage, arrival: Arrival | None = None
) -> Manifest:
    """Have workers count, and the trainer's process merge."""
    this.counting.show_counted()
    # Imported only now: RQ, redis and asyncio are slow to import, and meanwhile workers start.
    from bpefleet.producer.counting.through_redis import count_there  # noqa: PLC0415
    from bpefleet.producer.observing.posting import mirror  # noqa: PLC0415

    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    meanwhile = _receiving(this, arrival, stages)
    with this.stop.on_signals():
        try:
            failed = count_there(this, fleet, meanwhile=meanwhile)
        finally:  # after counting, even after an error, this process posts the snapshots
            if fleet.stays:
                this.status.mirror = mirror(fleet.url)
    missing = all_counted(this, failed)
    demand_text(this)
    totals = this.ledger.totals
    stages["count"] = structs.replace(
        _counting(start, totals.bytes_read - before, stages),
        worker_seconds=totals.seconds,
        worker_peak_rss=totals.peak_rss,
    )
    _log_counts(this, stages["count"])
    this.merging.begin(this.ledger)
    fleet.stop()
    milestones = Milestones(this.directory.plan)
    return fleet.trainer.train(_facts(this, stages, missing), milestones, this.merging, this.stop)


def in_process(this: Session, begun: Stage, arrival: Arrival | None = None) -> Manifest:
    """Count and merge without any other process."""
    this.counting.show_counted()
    stages = {"plan": begun.took()}
    start, before = Stage(), this.ledger.totals.bytes_read
    with this.stop.on_signals():
        failed = count_here(this, _receiving(this, arrival, stages))
    missing = all_counted(this, failed)
    demand_text(this)
    stages["count"] = _counting(start, this.ledger.totals.bytes_read - before, stages)
    _log_counts(this, stages["count"])
    this.merging.begin(this.ledger)
    start = Stage()
    counts = weighted_counts(this.directory.plan, this.ledger)
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
    plan = this.directory.plan
    mixture = source_views(plan, this.ledger.by_source)
    return Facts(versions(plan.engine), stages, missing, mixture=mixture)
