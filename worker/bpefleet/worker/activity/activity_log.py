"""Logs what a pool of workers does: what it serves, when it is busy, what it has done."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from bpefleet.shared.process.amounts import clock, several, size
from bpefleet.shared.process.logs import NOTICE, pause
from bpefleet.worker.activity.tally import Noted

if TYPE_CHECKING:
    from bpefleet.worker.activity.tally import Tally

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
_IDLE_AFTER: Final = 5.0
"""Seconds without work after which the pool counts as idle: longer than between two chunks."""


class ActivityLog:
    """A line when work begins and when it ends, and a few between."""

    def __init__(self, tally: Tally, served: str) -> None:
        """Prepare to log what is in `tally`; `served` says what the workers serve."""
        self.tally = tally
        self._served = served
        self._began = time.monotonic()
        self._busy_since: float | None = None
        self._busy_at = 0.0
        self._next = 0.0
        self._before = Noted()

    def begin(self) -> None:
        """The workers are about to serve."""
        logger.log(NOTICE, "serving: %s", self._served, extra={"workers": self.tally.workers})

    def look(self) -> None:
        """Log what changed since the last look, and now and then what goes on for long."""
        now, noted = time.monotonic(), self.tally.noted()
        if noted.busy:
            self._busy_at = now
        if self._busy_since is None:
            # Work may have come and gone between two looks.
            done = noted.chunks + noted.failed - self._before.chunks - self._before.failed
            if noted.busy or done:
                self._busy_since = self._busy_at = now
                self._next = now + pause(0.0)
                self._log(noted, "busy%s", _runs(noted))
        elif now - self._busy_at > _IDLE_AFTER:
            self._log(noted, "idle, after %s", self._did(noted, self._busy_at))
            self._busy_since, self._before = None, noted
        elif now >= self._next:
            self._next = now + pause(now - self._busy_since)
            busy = f"{noted.busy} of {several(self.tally.workers, 'worker')} busy"
            self._log(noted, "%s%s: %s", busy, _runs(noted), self._did(noted, now))

    def end(self) -> None:
        """The workers have ended."""
        noted = self.tally.noted()
        seconds = time.monotonic() - self._began
        self._log(noted, "ended after %s: %s", clock(seconds), _work(noted, Noted()))

    def _log(self, noted: Noted, text: str, *words: str) -> None:
        """Log a line, with what was done since the workers began to serve as its fields."""
        about = {
            "workers": self.tally.workers,
            "busy": noted.busy,
            "runs": sorted(noted.runs),
            "chunks": noted.chunks,
            "bytes": noted.bytes,
            "failed": noted.failed,
            "seconds": round(time.monotonic() - self._began, 3),
        }
        logger.log(NOTICE, text, *words, extra=about)

    def _did(self, noted: Noted, until: float) -> str:
        seconds = until - (self._busy_since or until)
        work = _work(noted, self._before)
        if seconds < 1:
            return work
        return f"{work} in {clock(seconds)}, {size((noted.bytes - self._before.bytes) / seconds)}/s"


def _runs(noted: Noted) -> str:
    runs = sorted(noted.runs)
    return f" with run{'s' if len(runs) > 1 else ''} {', '.join(runs)}" if runs else ""


def _work(noted: Noted, before: Noted) -> str:
    failed = noted.failed - before.failed
    return (
        f"{several(noted.chunks - before.chunks, 'chunk')} counted, "
        f"{size(noted.bytes - before.bytes)}" + (f", {failed:,} failed" if failed else "")
    )
