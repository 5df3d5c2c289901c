"""Counts in this process, without a server: for small corpora, and for `workers=0`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.ledger import Totals
from bpefleet.shared.memory import peak_rss
from bpefleet.shared.patterns import resolve
from bpefleet.shared.reading import source_errors

if TYPE_CHECKING:
    from bpefleet.producer.ledger import Ledger
    from bpefleet.producer.plan import Plan
    from bpefleet.producer.progress import Progress


def count_here(plan: Plan, ledger: Ledger, progress: Progress) -> None:
    """Count every chunk that the ledger lacks, one after the other.

    Chunks are kept in memory and written as one file, at the end or when stopped: what a crash
    loses is counted again on resume.

    Raises:
        SourceError: A file is missing, unreadable, shorter than planned, or not UTF-8.
        OutputError: The counts cannot be written.
    """
    try:
        _count(plan, ledger, progress)
    except KeyboardInterrupt:
        if ledger.chunks:
            ledger.compact()
        raise
    ledger.compact()


def _count(plan: Plan, ledger: Ledger, progress: Progress) -> None:
    pattern = resolve(plan.options.pattern)
    for chunk in range(len(plan.chunks)):
        if chunk in ledger.chunks:
            continue
        start = time.perf_counter()
        with source_errors():
            counts, tally = count_segments(
                plan.spec(chunk).segments,
                native=pattern.name if pattern.native else None,
                splits=pattern.splits,
                special_tokens=plan.options.special_tokens,
                errors=plan.options.errors,
            )
        totals = Totals(
            bytes_read=tally.bytes_read,
            pretokens=counts.pretokens,
            replaced=tally.replaced,
            unmatched=tally.unmatched,
            seconds=time.perf_counter() - start,
            peak_rss=peak_rss(),
        )
        ledger.absorb(chunk, counts, totals)
        progress.counted(ledger.totals.bytes_read, f"{len(ledger.counts):,} unique")
