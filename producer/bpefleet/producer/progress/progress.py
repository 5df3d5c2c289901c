"""Progress on stderr: a bar on a terminal, lines in a log."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.progress.bar import Bar, in_notebook
from bpefleet.producer.progress.handler import shown_on_stderr
from bpefleet.producer.progress.lines import Lines
from bpefleet.shared.process.logs import NOTICE, structured

if TYPE_CHECKING:
    from bpefleet.producer.progress.step import Step

logger = logging.getLogger(__name__)

_EVERY: Final = 0.25
"""Seconds between two updates of the bar."""


class Progress:
    """Shows how far a run is, and its log, on stderr.

    Unless `show`, it shows nothing, and the log is the program's affair. If `quiet`, it shows the
    log alone.

    It is drawn by a thread, so that the time goes on while a chunk is counted, and a slow reader of
    stderr does not hold up the run.
    """

    def __init__(self, *, show: bool, quiet: bool = False) -> None:
        self._show = show and sys.stderr is not None
        self._quiet = quiet
        self._step: Step | None = None
        self._bar: Bar | None = None
        self._lines: Lines | None = None
        self._still = threading.RLock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._show:
            self._stack.enter_context(shown_on_stderr())
        if self._show and (structured() or not (sys.stderr.isatty() or in_notebook())):
            self._lines = Lines(self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._leave()
        if self._thread is not None:
            self._thread.join()
        self._stack.close()

    def show(self, step: Step) -> None:
        """Show how far a stage is. A new stage ends the one before."""
        if not self._show or self._quiet:
            return
        with self._still:
            if self._step is not None and self._step.stage != step.stage:
                self._leave()
            self._step = step
            if self._lines is None and self._bar is None:
                self._bar = Bar(step)
        if self._thread is None:
            self._thread = threading.Thread(target=self._draw, name="progress", daemon=True)
            self._thread.start()

    def _draw(self) -> None:
        while not self._over.wait(_EVERY):
            with self._still:
                if self._step is not None and (display := self._lines or self._bar) is not None:
                    display.draw(self._step)

    def _leave(self) -> None:
        with self._still:
            if self._step is not None and (display := self._lines or self._bar) is not None:
                display.close(self._step)
            self._step = self._bar = None

    def _log(self, text: str, step: Step) -> None:
        about = {"stage": step.stage, "done": step.done, "total": step.total}
        about |= {"run": step.run} if step.run else {}
        eta = None if step.eta is None else round(step.eta, 1)
        logger.log(NOTICE, "%s", text, extra={**about, "rate": round(step.rate, 1), "eta": eta})
