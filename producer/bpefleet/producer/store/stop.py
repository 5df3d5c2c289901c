"""Ctrl-C once: finish what runs, save, and say how to go on. Twice: now.

SIGTERM is taken the same way, and `bpefleet cancel` leaves a file that is as good as the first. The
file names the lock holder that is to stop (see `lock`), so a file that was meant for an earlier
process stops nobody.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bpefleet.producer.files.atomic import read_whole, write_atomically
from bpefleet.producer.files.lock import own_lock_id
from bpefleet.shared.errors import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import FrameType

logger = logging.getLogger(__name__)

CANCEL: Final = "cancel"
"""The file in a run directory that asks its process to end."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GLANCE_SECONDS: Final = 0.1
_MOST: Final = 4096
T = TypeVar("T")


def ask_cancel(directory: Path, lock: bytes) -> None:
    """Ask the process that holds a directory's lock to stop.

    Raises:
        OutputError: It cannot be written.
    """
    write_atomically(directory / CANCEL, lock)


class Stop:
    """Whether a run is asked to end.

    Attributes:
        now: Whether somebody asked twice, and the run is to stop without finishing anything.
    """

    def __init__(self, directory: Path) -> None:
        """Look for requests in a directory whose lock this process holds."""
        self.now = False
        self._file = directory / CANCEL
        self._lock_id = own_lock_id(directory)
        self._signalled = False
        self._said = False
        self._next_glance = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def requested(self) -> bool:
        """Whether somebody asked. It may read a file: not for use on an event loop."""
        if not self._asked():
            return False
        if not self._said:
            self._said = True
            logger.warning(
                "stopping: the running chunks are finished first; Ctrl-C again stops at once"
            )
        return True

    def check(self) -> None:
        """Raise if somebody asked, in a stage that has nothing to finish first.

        Looks for the file ten times a second at most.

        Raises:
            InterruptedRunError: Somebody asked.
        """
        now = time.monotonic()
        if self._signalled or now >= self._next_glance:
            self._next_glance = now + _GLANCE_SECONDS
            if self._asked():
                raise InterruptedRunError("stopped")

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """Pass the items on, with a `check` before each."""
        for item in items:
            self.check()
            yield item

    def _asked(self) -> bool:
        if not self._signalled and self._file.exists():
            with suppress(OSError):  # a link, or anything else that is no request
                self._signalled = read_whole(self._file, _MOST) == self._lock_id
                if self._signalled:
                    self._file.unlink()
        return self._signalled

    def request(self) -> None:
        """Ask the run to stop, as the first signal does."""
        self._signalled = True

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Within the block, the first signal is a request, and the second interrupts.

        Signals reach the main thread only; in another one this does nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            self._before = {}

    @contextmanager
    def as_before(self) -> Iterator[None]:
        """Within the block, signals do what they did before `on_signals`: the first interrupts."""
        now = {number: signal.signal(number, before) for number, before in self._before.items()}
        try:
            yield
        finally:
            for number, handler in now.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            self.now = True
            raise KeyboardInterrupt
        self._signalled = True
