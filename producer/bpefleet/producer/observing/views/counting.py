"""Shows how far counting is: beside the run, and in its snapshots."""

from __future__ import annotations

import time
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.observing.expected_text import ExpectedText
from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.progress.step import step_of
from bpefleet.producer.store.mixture import source_views
from bpefleet.shared.wire.keys import PUBLISH
from bpefleet.shared.wire.shown.status import (
    MOST_FAILED,
    MOST_RUNNING,
    SPOOL,
    Arriving,
    Failure,
    Running,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bpefleet.producer.observing.status_file import StatusFile
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.spooling.arrived import Arrived
    from bpefleet.producer.store.exchanged.counted import AllCounted
    from bpefleet.shared.wire.shown.status import Snapshot

_RATE_OVER: Final = 30.0
"""Seconds over which the rate of counting is taken."""
_SLOW: Final = 10.0
"""Seconds to leave a chunk's counts, some MB of them, in an exchange: more are many."""


class CountingView:
    """Shows counting. Writes files: not for use on an event loop."""

    def __init__(
        self,
        plan: Plan,
        ledger: AllCounted,
        failures: Mapping[int, int],
        status: StatusFile,
        progress: Progress,
        arrived: Arrived,
    ) -> None:
        """Prepare to show.

        Args:
            plan: The run.
            ledger: What is counted.
            failures: How often attempts at each chunk failed, in all sessions.
            status: Where snapshots are shown.
            progress: Where people see how far it is.
            arrived: How much has arrived of a corpus that is no file.
        """
        self._plan = plan
        self._ledger = ledger
        self._failed = failures
        self._status = status
        self._progress = progress
        self._pace = Pace(_RATE_OVER)
        self._arrived = arrived
        self._arriving = Pace(_RATE_OVER)
        self._expected = ExpectedText(plan)

    def show_counted(self) -> None:
        """Show how much is in the ledger, beside the run alone."""
        counted = self._ledger.totals.bytes_read
        self._pace.see(counted)
        newer = replace(
            self._now(),
            counted=len(self._ledger.chunks),
            bytes=self._expected.total(self._ledger.chunks, counted),
            bytes_counted=counted,
        )
        self._progress.show(step_of(newer))

    def show(self, states: ChunkStates, sweep: Sweep | None = None) -> Snapshot:
        """Show a new snapshot; without a sweep, this process is the only worker."""
        ledger = self._ledger
        counted = ledger.totals.bytes_read
        self._pace.see(counted)
        total = self._expected.total(ledger.chunks, counted)
        running = states.running()
        exchange, full = ledger.exchanging, sweep.full if sweep else []
        slow = _for_long(states.since_when(PUBLISH)) if exchange else []
        describe = self._plan.describe
        snapshot = self._status.show(
            replace(
                self._now(),
                chunks=states.total,
                counted=len(states.folded),
                running=tuple(Running(c, describe(c), w) for c, w in running[:MOST_RUNNING]),
                more_running=len(running[MOST_RUNNING:]),
                queued=len(states.in_flight) - len(running),
                waiting=states.waiting,
                failed=tuple(self._failures(states)),
                more_failed=max(0, len(states.failed) - MOST_FAILED),
                bytes=total,
                bytes_counted=counted,
                pretokens=ledger.totals.pretokens,
                unique=ledger.unique,
                retries=states.retries.made,
                workers=len(sweep.workers) if sweep else 1,
                # A run that waits for a person's retry is at nothing.
                rate=self._pace.rate() if states.unfinished else 0.0,
                eta=self._pace.left(total) if states.unfinished and not states.growing else None,
                holding=states.held,
                redis_memory=sweep.redis_memory if sweep else 0,
                unfolded=sweep.unfolded if sweep else 0,
                full=len(full),
                full_since=min(full, default=0.0),
                slow=len(slow),
                slow_since=min(slow, default=0.0),
                records=ledger.totals.records,
                absent=ledger.totals.absent,
                sources=source_views(self._plan, ledger.by_source),
                exchange=exchange,
                tokens=ledger.tokens,
                documents=ledger.documents,
            )
        )
        self._progress.show(step_of(snapshot))
        return snapshot

    def _now(self) -> Snapshot:
        """The latest snapshot, with what has arrived by now."""
        arrived = self._arrived
        if not arrived.open:
            return replace(self._status.now, stage=self._plan.kind.name, arriving=None)
        self._arriving.see(arrived.bytes)
        arriving = Arriving(arrived.documents, arrived.bytes, self._arriving.rate())
        return replace(self._status.now, stage=SPOOL, arriving=arriving)

    def _failures(self, states: ChunkStates) -> list[Failure]:
        # The history learns of an attempt a moment later than the chunk's state.
        return [
            Failure(
                chunk,
                self._plan.describe(chunk),
                max(self._failed[chunk], states.retries.failed(chunk)),
                failed.worker,
                failed.kind,
                shortened(failed.error),
            )
            for chunk, failed in nsmallest(MOST_FAILED, states.failed.items())
        ]


def _for_long(since: Iterable[float]) -> list[float]:
    return [begun for begun in since if begun < time.time() - _SLOW]
