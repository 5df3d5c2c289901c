"""The latest snapshot of a run, for who looks on.

`DIR/status.json` holds it, renewed about once a second. The run never reads it back.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.files.atomic import create
from bpefleet.producer.observing.snapshot import SNAPSHOT, at_rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.shared.wire.shown.status import Snapshot

_EVERY: Final = 1.0
"""Seconds between two snapshots."""
_PATIENCE: Final = 0.5
"""Seconds that a snapshot waits for a quiet moment."""


class StatusFile:
    """Keeps the snapshot. Writes files: not for use on an event loop.

    Attributes:
        now: The latest snapshot.
        data: The same as JSON, as it was shown last.
        mirror: Given each snapshot that the aggregator does not post itself.
    """

    def __init__(self, directory: RunDirectory) -> None:
        """Begin a session, with what is in the directory already."""
        self.data = b""
        self.mirror: Callable[[Snapshot], None] | None = None
        self._directory = directory
        self._path = directory.path / SNAPSHOT
        self._next = 0.0
        self._away = 0.0
        self._lock = threading.Lock()
        self.now = replace(
            at_rest(directory, time.time()),
            producer=f"process {os.getpid()} on {socket.gethostname()}",
            stage=directory.plan.kind.name,
            session=secrets.token_hex(8),
            started=time.time(),
            ended=None,
        )

    @property
    def due(self) -> bool:
        """Whether it is time for a new snapshot."""
        return time.monotonic() >= self._next

    @property
    def late(self) -> bool:
        """Whether it cannot wait any longer."""
        return time.monotonic() >= self._next + _PATIENCE

    def began(self, at: float) -> None:
        """Date the session's start back to that of its command, Unix seconds."""
        self.now = replace(self.now, started=at)

    def show(self, snapshot: Snapshot) -> Snapshot:
        """Show a new snapshot, and return it with its time."""
        self._next = time.monotonic() + _EVERY
        with self._lock:
            self.now = replace(snapshot, updated=time.time(), redis_away=self._away)
            self.data = self.now.to_bytes()
            temporary = self._path.with_suffix(".json.new")
            with suppress(OSError):  # a full disk will be said where it matters
                with create(temporary) as file:
                    file.write(self.data)
                temporary.replace(self._path)
        if self.mirror is not None:
            self.mirror(self.now)
        return self.now

    def away(self, since: float) -> None:
        """Redis does not answer since then, Unix seconds; 0: it does.

        Callable beside all else: who else tells of the run waits for Redis.
        """
        self._away = since
        self.show(self.now)

    def close(self) -> None:
        """Leave no snapshot behind: from now on the directory tells."""
        with suppress(OSError):
            self._path.unlink()
        if self.mirror is not None:
            rest = at_rest(self._directory, time.time())
            self.mirror(replace(rest, merging=self.now.merging))
