"""A mixture's counts: weighted for training, and by source for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.corpus.sampling import WHOLE
from bpefleet.shared.wire.shown.status import SourceView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.kernel import FoldedCounts
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.producer.store.ledgers.ledger import Ledger


def weighted_counts(plan: Plan, ledger: Ledger) -> FoldedCounts:
    """All counts of a run, each as often as its source's weight says.

    Raises:
        UsageError: They would need more than 64 bits.
        OutputError: As `Ledger.folded`.
    """
    scale, sums = plan.scale, ledger.by_source
    found = [sums.get(index, Totals()) for index in range(len(plan.sources))]
    text = [each.bytes_read + 2 * each.replaced for each in found]
    scale.demand_room(text, [source.name for source in plan.sources])
    return ledger.folded(scale.times)


def source_views(plan: Plan, sums: Mapping[int, Totals]) -> tuple[SourceView, ...]:
    """The sources of a mixture, and what is counted of them; none if the run is of plain paths."""
    if not plan.is_mixture:
        return ()
    files = plan.totals.files_of
    times = plan.scale.times
    found = [sums.get(index, Totals()) for index in range(len(times))]
    whole = sum(n * each.pretokens for n, each in zip(times, found, strict=True))
    return tuple(
        SourceView(
            name=source.name,
            weight=source.weight,
            sample=source.share / WHOLE,
            files=files[index],
            bytes=each.bytes_read,
            pretokens=each.pretokens,
            records=each.records,
            absent=each.absent,
            share=times[index] * each.pretokens / whole if whole else 0.0,
        )
        for index, (source, each) in enumerate(zip(plan.sources, found, strict=True))
    )
