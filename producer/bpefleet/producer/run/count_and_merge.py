"""The two stages of a training, with a fleet or in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.run.chunks import do_chunks
from bpefleet.producer.store.manifest import Facts
from bpefleet.producer.store.mixture import source_views, weighted_counts
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.training.milestones import Milestones
from bpefleet.producer.training.trainer import train_tokenizer
from bpefleet.producer.training.versions import versions

if TYPE_CHECKING:
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.run.arrival import Arrival
    from bpefleet.producer.store.manifest import Manifest, Missing
    from bpefleet.producer.store.stage import Took
    from bpefleet.producer.training.sample_tokens import Picked


def with_fleet(
    this: Session, fleet: Fleet, begun: Stage, arrival: Arrival | None = None
) -> Manifest:
    """Have workers count, and the trainer's process merge."""
    stages, missing = do_chunks(this, fleet, begun, arrival)
    this.merging.begin(this.ledger)
    fleet.stop()
    milestones = Milestones(this.directory.plan)
    return fleet.trainer.train(_facts(this, stages, missing), milestones, this.merging, this.stop)


def in_process(this: Session, begun: Stage, arrival: Arrival | None = None) -> Manifest:
    """Count and merge without any other process."""
    stages, missing = do_chunks(this, None, begun, arrival)
    this.merging.begin(this.ledger)
    start = Stage()
    counts = weighted_counts(this.directory.plan, this.counts)
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


def _facts(this: Session, stages: dict[str, Took], missing: tuple[Missing, ...]) -> Facts:
    plan = this.directory.plan
    mixture = source_views(plan, this.ledger.by_source)
    return Facts(versions(plan.engine), stages, missing, mixture=mixture)
