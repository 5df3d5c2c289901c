"""Counts in this process, without a server: for small corpora, and for `workers=0`."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from bpefleet.producer.counting.early_end import told_at_once
from bpefleet.producer.counting.kinds.work import WORK, stores_of
from bpefleet.producer.observing.chunk_times import HERE
from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.store.history import Attempt
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.errors import BpefleetError, OutputError
from bpefleet.shared.queue.attempt_log import Tail, log_segments
from bpefleet.shared.trust.roots import roots_of
from bpefleet.shared.trust.signing import Signer, read_key
from bpefleet.shared.wire.failures import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bpefleet.producer.counting.kinds.work import Stores
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
    kind, todo = session.directory.plan.kind, session.todo
    if there := session.elsewhere:  # of a session before, that had workers
        there.bring_in(session.counts, read_key(session.resources.key_file))
        todo = sorted({*todo, *there.lost})
    states = ChunkStates(kind, session.planned, todo, session.ledger.chunks)
    stores = stores_of(session, Signer())[kind.name]
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
                _count(session, states, stores, taken[0], roots, tail)
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
    session.journal.add(Attempt.of(chunk, failure, final=True, job=states.kind.name))


def _count(
    session: Session,
    states: ChunkStates,
    stores: Stores[Any],
    chunk: int,
    roots: Sequence[str],
    tail: Tail,
) -> None:
    """Count a chunk and fold it, or note why that cannot be."""
    plan = session.directory.plan
    work = WORK[plan.kind.name]
    if work.here is None:  # pragma: no cover
        raise AssertionError
    began = time.time()
    try:
        spec = work.spec(plan, chunk, session.resources.errors)
        log_segments(log := tail.logger(), plan.spec(chunk).segments)
        log.info("%s", plan.kind.name)
        result, payload = work.here(spec, chunk, roots)
    except (BpefleetError, MemoryError) as error:
        if isinstance(error, OutputError):  # the next chunk would fail as well
            raise
        failed = replace(describe(error), started=began, log=tail.text())
        _failed(session, states, chunk, failed)
        return
    done = time.perf_counter()
    (wrong,) = stores.add([(chunk, result, payload)])
    if wrong is not None:
        _failed(session, states, chunk, replace(wrong, log=tail.text()))
        return
    if isinstance(session.ledger, Ledger):
        session.ledger.tidy()
    states.fold(chunk)
    took = time.perf_counter() - done
    made = Attempt.of(chunk, result, fold_seconds=took, job=plan.kind.name)
    session.journal.add(made)
