"""What people see of a run while it goes: progress on stderr, and a snapshot for who looks on.

`DIR/status.json` holds the snapshot, renewed about once a second. The run never reads it back.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from bpefleet.producer.files.atomic import create
from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.observing.snapshot import SNAPSHOT, at_rest
from bpefleet.producer.progress.step import Step, step_of
from bpefleet.producer.training.sample_tokens import examples
from bpefleet.shared.wire.status import COUNT, MERGE, Failure, Merging, Running, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.queueing.sweep import Sweep
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.ledger import Ledger
    from bpefleet.producer.training.sample_tokens import Picked

_EVERY: Final = 1.0
_PATIENCE: Final = 0.5
_RATE_OVER: Final = 30.0
_MERGES_OVER: Final = 5.0
"""Seconds over which the rates of counting and of merging are taken."""

_WRITE: Final = Step("write", facts=("the tokenizer's files",))

_FAILURES_SHOWN: Final = 1000


class Watch:
    """Tells of a run. Writes files: not for use on an event loop.

    Attributes:
        tried: How often each chunk was tried, in all sessions.
        mirror: Given each snapshot that the aggregator does not post itself.
    """

    def __init__(self, directory: RunDirectory, progress: Progress) -> None:
        self._held_said = False
        self.tried: Mapping[int, int] = Counter()
        self.mirror: Callable[[Snapshot], None] | None = None
        self._directory = directory
        self._progress = progress
        self._path = directory.path / SNAPSHOT
        self._next = 0.0
        self._away = 0.0
        self._lock = threading.Lock()
        self._pace = Pace(_RATE_OVER)
        self._unsaid: deque[tuple[str, dict[str, str | int]]] = deque()
        self._now = replace(
            at_rest(directory, time.time()),
            producer=f"process {os.getpid()} on {socket.gethostname()}",
            stage=COUNT,
            session=secrets.token_hex(8),
            started=time.time(),
            ended=None,
        )

    @property
    def session(self) -> str:
        """What this session is called in the snapshot."""
        return self._now.session

    def began(self, at: float) -> None:
        """Date the session's start back to that of its command, Unix seconds."""
        self._now = replace(self._now, started=at)

    def warn(self, text: str, **about: str | int) -> None:
        """Tell the person that something is not as they may think; `about`: see `logs.FIELDS`.

        Said when progress is shown next: whoever reads stderr slowly must not block an event loop.
        """
        self._unsaid.append((text, about))

    def start_counting(self, ledger: Ledger) -> None:
        """The count stage begins, with what is in the ledger already."""
        self._pace.see(ledger.totals.bytes_read)
        self._show_counted(ledger)

    @property
    def due(self) -> bool:
        """Whether it is time for a new snapshot."""
        return time.monotonic() >= self._next

    @property
    def late(self) -> bool:
        """Whether it cannot wait any longer."""
        return time.monotonic() >= self._next + _PATIENCE

    def counting(
        self,
        ledger: Ledger,
        states: ChunkStates,
        sweep: Sweep | None = None,
        *,
        now: bool,
    ) -> Snapshot | None:
        """Show how far counting is; the new snapshot, if there is to be one `now`.

        Without a sweep, this process is the only worker.
        """
        self._say()
        counted = ledger.totals.bytes_read
        self._pace.see(counted)
        if not now:
            self._show_counted(ledger)
            return None
        running = states.running()
        describe = self._directory.plan.describe
        snapshot = self._show(
            replace(
                self._now,
                counted=len(states.folded),
                running=tuple(Running(c, describe(c), w) for c, w in running),
                queued=len(states.in_flight) - len(running),
                waiting=states.waiting,
                failed=tuple(self._failures(states)),
                bytes_counted=counted,
                pretokens=ledger.totals.pretokens,
                unique=ledger.unique,
                retries=states.retries.made,
                workers=sweep.workers if sweep else 1,
                # A run that waits for a person's retry is at nothing.
                rate=self._pace.rate() if states.unfinished else 0.0,
                eta=self._pace.left(self._now.bytes) if states.unfinished else None,
                holding=states.held,
                redis_memory=sweep.redis_memory if sweep else 0,
                unfolded=sweep.unfolded if sweep else 0,
            )
        )
        self._progress.show(step_of(snapshot))
        return snapshot

    def held(self, states: ChunkStates) -> None:
        """The run waits for failed chunks to be retried, or does so no longer."""
        if states.held and not self._held_said:
            path = self._directory.path
            self.warn(
                f"{len(states.failed)} chunks failed and all others are counted; waiting for "
                f"`bpefleet retry {path}`, or the page; Ctrl-C ends the run"
            )
        self._held_said = states.held

    def start_merging(self, ledger: Ledger) -> None:
        """The merge stage begins."""
        self._say()
        self._pace = Pace(_MERGES_OVER)
        self._pace.see(0)
        snapshot = self._show(
            replace(
                self._now,
                stage=MERGE,
                counted=len(ledger.chunks),
                bytes_counted=ledger.totals.bytes_read,
                pretokens=ledger.totals.pretokens,
                unique=ledger.unique,
                running=(),
                queued=0,
                waiting=0,
                workers=0,
                rate=0.0,
                eta=None,
                unfolded=0,
                merging=Merging(0.0, None),
            )
        )
        self._progress.show(step_of(snapshot))

    def folded(self, unique: int) -> None:
        """Show how many different pre-tokens there are in all."""
        self._now = replace(self._now, unique=unique)

    def merged(self, merges: int, tokens: Picked) -> None:
        """Show merges made so far, and examples of their tokens."""
        self._pace.see(merges)
        merging = Merging(self._pace.rate(), examples(tokens))
        eta = self._pace.left(self._now.merges)
        self._now = replace(self._now, merges_made=merges, merging=merging, eta=eta)
        self._progress.show(step_of(self._now))
        if self.due:
            self._show(self._now)

    def writing(self) -> None:
        """All merges are made, and the artifacts are being written."""
        self._progress.show(_WRITE)

    def close(self) -> None:
        """Leave no snapshot behind: from now on the directory tells."""
        self._say()
        with suppress(OSError):
            self._path.unlink()
        if self.mirror is not None:
            rest = at_rest(self._directory, time.time())
            self.mirror(replace(rest, merging=self._now.merging))

    def _show_counted(self, ledger: Ledger) -> None:
        newer = replace(
            self._now, counted=len(ledger.chunks), bytes_counted=ledger.totals.bytes_read
        )
        self._progress.show(step_of(newer))

    def away(self, since: float) -> None:
        """Redis does not answer since then, Unix seconds; 0: it does. Also says what is unsaid.

        Callable beside all else: who else tells of the run waits for Redis.
        """
        self._away = since
        self._say()
        self._show(self._now)

    def _say(self) -> None:
        with self._lock:
            while self._unsaid:
                text, about = self._unsaid.popleft()
                self._progress.warn(text, run=self._now.run, **about)

    def _failures(self, states: ChunkStates) -> list[Failure]:
        describe = self._directory.plan.describe
        # The history learns of an attempt a moment later than the chunk's state.
        return [
            Failure(
                c,
                describe(c),
                max(self.tried[c], states.retries.failed(c)),
                f.worker,
                f.kind,
                f.error,
            )
            for c, f in sorted(states.failed.items())[:_FAILURES_SHOWN]
        ]

    def _show(self, snapshot: Snapshot) -> Snapshot:
        self._next = time.monotonic() + _EVERY
        with self._lock:
            self._now = replace(snapshot, updated=time.time(), redis_away=self._away)
            data = orjson.dumps(self._now)
            temporary = self._path.with_suffix(".json.new")
            with suppress(OSError):  # a full disk will be said where it matters
                with create(temporary) as file:
                    file.write(data)
                temporary.replace(self._path)
        if self.mirror is not None:
            self.mirror(self._now)
        return self._now
