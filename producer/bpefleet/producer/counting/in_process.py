"""Counts in this process, without a server: for small corpora, and for `workers=0`."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.counting.early_end import told_at_once
from bpefleet.producer.observing.chunk_times import HERE
from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.store.history import Attempt
from bpefleet.shared.corpus.reading import count_spec, encode
from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.queue.attempt_log import Tail, log_segments
from bpefleet.shared.trust.roots import roots_of
from bpefleet.shared.trust.signing import read_key
from bpefleet.shared.wire.failures import describe
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bpefleet.producer.counting.session import Session
    from bpefleet.shared.wire.messages import Failed


_PAUSE: Final = 0.05
"""Seconds between two looks whether another chunk has arrived."""


def count_here(
    session: Session, meanwhile: Callable[[], object] | None = None
) -> dict[int, Failed]:
    """Count every chunk that the ledger lacks, one after the other, or until a stop is asked for.

    Args:
        session: The run.
        meanwhile: Called in this thread: lets the chunks arrive that are not there yet. They are
            counted in another.

    Returns:
        The chunks that failed: a missing or unreadable file, one that is shorter than planned, or
        not UTF-8.

    Raises:
        OutputError: The counts cannot be written.
    """
    if meanwhile is None:
        return _count_all(session)
    with ThreadPoolExecutor(1, "counting") as beside:
        counting = beside.submit(_count_beside, session)
        meanwhile()  # if that fails, what is being counted is waited for
        return counting.result()


def _count_beside(session: Session) -> dict[int, Failed]:
    with told_at_once(session.arrived):
        return _count_all(session)


def _count_all(session: Session) -> dict[int, Failed]:
    files, chunks = session.directory.plan.files, session.directory.plan.chunks
    todo = session.todo
    if there := session.elsewhere:  # of a session before, that had workers
        there.bring_in(session.ledger, read_key(session.resources.key_file))
        todo = sorted({*todo, *there.lost})
    states = ChunkStates(COUNT, session.planned, todo, session.ledger.chunks)
    roots = roots_of(file.path for file in files.one_of_each_folder)
    tail = Tail()
    try:
        while not _halted(session):
            more = session.arrived.open  # first: the last chunk is there once nothing more comes
            states.arrive(len(chunks), more=more)
            taken = states.take(1, 0.0)
            states.seen_at_work(dict.fromkeys(taken, (HERE, "")))
            if session.status.due:
                session.counting.show(states)
            else:
                session.counting.show_counted()
            if taken:
                tail.begin()
                roots = roots or roots_of([files[0].path])  # of what arrives, all is in one folder
                _count(session, states, taken[0], roots, tail)
            elif more:
                time.sleep(_PAUSE)
            else:
                break
        session.counting.show(states)
    finally:
        tail.close()
    return states.failed


def _halted(session: Session) -> bool:
    # While the corpus arrives, what lets it arrive is asked to stop.
    if session.arrived.open:
        return session.arrived.given_up
    return session.stop.requested()


def _failed(session: Session, states: ChunkStates, chunk: int, failure: Failed) -> None:
    states.fail(chunk, replace(failure, may_heal=False), 0.0)
    session.journal.add(Attempt.of(chunk, failure, final=True))


def _count(
    session: Session, states: ChunkStates, chunk: int, roots: Sequence[str], tail: Tail
) -> None:
    """Count a chunk and fold it, or note why that cannot be."""
    began, start = time.time(), time.perf_counter()
    plan = session.directory.plan
    try:
        spec = plan.spec(chunk, session.resources.errors)
        log_segments(log := tail.logger(), spec.segments)
        log.info("count")
        counts, tally = count_spec(spec, count_segments, roots)
        scanned = time.perf_counter()
        payload = encode(counts, plan.digest)
    except (BpefleetError, MemoryError) as error:
        failed = replace(describe(error), started=began, log=tail.text())
        _failed(session, states, chunk, failed)
        return
    if changed := plan.changed(chunk):
        _failed(session, states, chunk, replace(changed, log=tail.text()))
        return
    seconds = time.perf_counter() - start
    counted = Counted(
        key="",
        sha256="",
        size=len(payload),
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        unique=len(counts),
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        seconds=seconds,
        peak_rss=peak_rss(),
        worker="",
        started=began,
        ended=began + seconds,
        read_seconds=tally.read_seconds,
        scan_seconds=scanned - start - tally.read_seconds,
        encode_seconds=start + seconds - scanned,
        records=tally.records,
        absent=tally.absent,
    )
    session.ledger.add(chunk, counted, payload)
    states.fold(chunk)
    took = time.perf_counter() - start - seconds
    session.journal.add(Attempt.of(chunk, counted, fold_seconds=took))
