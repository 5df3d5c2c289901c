"""Counts in this process, without a server: for small corpora, and for `workers=0`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.attempts import COUNTED, Attempt
from bpefleet.producer.chunks import Chunks
from bpefleet.producer.ledger import Totals
from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.failures import describe
from bpefleet.shared.memory import peak_rss
from bpefleet.shared.reading import count_spec
from bpefleet.shared.tail import Tail, log_segments

if TYPE_CHECKING:
    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.segments import Tally
    from bpefleet.producer.session import Session
    from bpefleet.shared.messages import Failed


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
    counted: list[Attempt] = []
    tail = Tail()
    try:
        while not session.stop.requested() and (taken := chunks.take(1, 0.0)):
            tail.begin()
            if attempt := _count(session, chunks, taken[0], tail):
                counted.append(attempt)
            session.watch.counting(ledger, chunks)
    finally:
        if len(ledger.chunks) > before:
            ledger.compact()
        # Only now: the history must not tell of chunks that the ledger lost in a crash.
        for attempt in counted:
            session.journal.add(attempt)
        tail.close()
    return chunks.failed


def _failed(session: Session, chunks: Chunks, chunk: int, failure: Failed) -> None:
    chunks.ended(chunk, replace(failure, may_heal=False), 0.0)
    session.journal.add(Attempt.of(chunk, failure, final=True))


def _count(session: Session, chunks: Chunks, chunk: int, tail: Tail) -> Attempt | None:
    """Count a chunk and fold it in memory; its attempt, unless it failed."""
    began, start = time.time(), time.perf_counter()
    try:
        spec = session.directory.plan.spec(chunk, session.resources.errors)
        log_segments(log := tail.logger(), spec)
        log.info("count")
        counts, tally = count_spec(spec, count_segments)
    except BpefleetError as error:
        failed = replace(describe(error), started=began, log=tail.text())
        _failed(session, chunks, chunk, failed)
        return None
    if changed := session.directory.plan.changed(chunk):
        _failed(session, chunks, chunk, replace(changed, log=tail.text()))
        return None
    seconds = time.perf_counter() - start
    unique, totals = len(counts), _totals(counts, tally, seconds)
    session.ledger.absorb(chunk, counts, totals)
    chunks.folded(chunk)
    return Attempt(
        chunk=chunk,
        outcome=COUNTED,
        event="",
        worker="",
        started=began,
        ended=began + seconds,
        peak_rss=totals.peak_rss,
        bytes_read=totals.bytes_read,
        unique=unique,
        read_seconds=tally.read_seconds,
        scan_seconds=seconds - tally.read_seconds,
        fold_seconds=time.perf_counter() - start - seconds,
    )


def _totals(counts: Counts, tally: Tally, seconds: float) -> Totals:
    return Totals(
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        seconds=seconds,
        peak_rss=peak_rss(),
    )
