"""Counts in this process, without a server: for small corpora, and for `workers=0`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.attempts import Attempt
from bpefleet.producer.chunks import Chunks
from bpefleet.producer.ledger import Totals
from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.failures import describe
from bpefleet.shared.memory import peak_rss
from bpefleet.shared.patterns import resolve
from bpefleet.shared.reading import source_errors

if TYPE_CHECKING:
    from bpefleet.kernel._kernel import Counts
    from bpefleet.producer.session import Session
    from bpefleet.shared.messages import CountSpec, Failed


def count_here(session: Session) -> dict[int, Failed]:
    """Count every chunk that the ledger lacks, one after the other, or until a stop is asked for.

    Chunks are kept in memory and written as one file, at the end or when stopped: what a crash
    loses is counted again on resume.

    Returns:
        The chunks that failed: a missing or unreadable file, one that is shorter than planned, or
        not UTF-8.

    Raises:
        OutputError: The counts cannot be written.
    """
    ledger = session.ledger
    chunks = Chunks(session.todo)
    before = len(ledger.chunks)
    try:
        while not session.stop.requested() and (taken := chunks.take(1, 0.0)):
            _count(session, chunks, taken[0])
            session.watch.counting(ledger, chunks)
    finally:
        if len(ledger.chunks) > before:
            ledger.compact()
    return chunks.failed


def _count(session: Session, chunks: Chunks, chunk: int) -> None:
    start = time.perf_counter()
    try:
        counts, totals = _counted(session.directory.plan.spec(chunk, session.resources.errors))
    except BpefleetError as error:
        failure = describe(error)
        chunks.ended(chunk, failure, 0.0)
        session.journal.add(Attempt.of(chunk, failure, final=True))
        return
    session.ledger.absorb(chunk, counts, replace(totals, seconds=time.perf_counter() - start))
    chunks.folded(chunk)


def _counted(spec: CountSpec) -> tuple[Counts, Totals]:
    pattern = resolve(spec.pattern)
    with source_errors():
        counts, tally = count_segments(
            spec.segments,
            native=pattern.name if pattern.native else None,
            splits=pattern.splits,
            special_tokens=spec.special_tokens,
            errors=spec.errors,
        )
    totals = Totals(
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        peak_rss=peak_rss(),
    )
    return counts, totals
