"""Progress on stderr: a bar where somebody looks, lines where a log is kept."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.progress.bar import Bar, in_notebook
from bpefleet.producer.progress.lines import Lines
from bpefleet.shared.process.logs import NOTICE, structured
from bpefleet.shared.process.text import paragraph

if TYPE_CHECKING:
    from bpefleet.producer.progress.step import Step

logger = logging.getLogger("bpefleet")

_EVERY: Final = 0.25
"""Seconds between two looks of the bar."""


class Progress:
    """Shows how far a run is; silent but for warnings unless `show`, or if `quiet`.

    Without `show` these go to the log, where a program has it; otherwise to stderr, for people.

    A thread of its own draws, so that the time goes on while a chunk is counted, and that whoever
    reads stderr slowly keeps nobody from work.
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

    def __enter__(self) -> Self:
        if self._show and (structured() or not (sys.stderr.isatty() or in_notebook())):
            self._lines = Lines(self._log)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._leave()
        if self._thread is not None:
            self._thread.join()

    def warn(self, text: str, **about: str | int) -> None:
        """Tell the person that something is not as they may think; `about`: see `logs.FIELDS`."""
        self._say("warning: ", text, about)

    def tell(self, text: str) -> None:
        """Tell the person what there is to know, for instance an address."""
        self._say("", text, {})

    def show(self, step: Step) -> None:
        """Show how far a stage is; another stage than before ends that one."""
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

    def _say(self, mark: str, text: str, about: dict[str, str | int]) -> None:
        if not self._show or structured():
            logger.warning("%s", text, extra=about)
            return
        with self._still:
            if self._bar is not None:
                self._bar.say(f"{mark}{paragraph(text)}")
            else:
                _print(f"{mark}{text}")

    def _log(self, text: str, step: Step) -> None:
        if structured():
            about = {"run": step.run, "stage": step.stage, "done": step.done, "total": step.total}
            eta = None if step.eta is None else round(step.eta, 1)
            logger.log(NOTICE, "%s", text, extra={**about, "rate": round(step.rate, 1), "eta": eta})
        else:
            _print(text)


def _print(text: str) -> None:
    print(paragraph(text), file=sys.stderr, flush=True)  # noqa: T201  for people
