"""Log lines where there is no terminal: every ten seconds at first, then less often."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bpefleet.shared.process.amounts import clock
from bpefleet.shared.process.logs import pause

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.progress.step import Step


class Lines:
    """Writes now and then how far a run is; nothing about a run that ends before the first line."""

    def __init__(self, say: Callable[[str, Step], None], began: float | None = None) -> None:
        """Prepare to write lines.

        Args:
            say: Writes a line.
            began: When the run began, by `time.monotonic`; None for now.
        """
        self._say = say
        self._began = self._stage_began = time.monotonic() if began is None else began
        self._next = self._began + pause(0.0)
        self._said = False

    def draw(self, step: Step, now: float | None = None) -> None:
        """Write how far a stage is, if a line is due."""
        now = time.monotonic() if now is None else now
        if now < self._next:
            return
        self._next = now + pause(now - self._began)
        self._said = True
        self._say(_line(step, now - self._stage_began), step)

    def close(self, step: Step, now: float | None = None) -> None:
        """Write that a stage is over, if there was a line about it before."""
        now = time.monotonic() if now is None else now
        if self._said and step.total:
            self._say(_line(step, now - self._stage_began), step)
        self._said = False
        self._stage_began = now


def _line(step: Step, seconds: float) -> str:
    share = f" {100 * step.share:.0f} %" if step.total else ""
    facts = [*step.facts, f"{clock(seconds)} so far"]
    facts += [f"{clock(step.eta)} left"] if step.eta is not None else []
    return f"{step.stage}{share}: {', '.join(facts)}"
