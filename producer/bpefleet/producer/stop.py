"""Ctrl-C once: finish what runs, save, and say how to go on. Twice: now.

SIGTERM is taken the same way, and `bpefleet cancel` leaves a file that is as good as the first.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

CANCEL: Final = "cancel"
"""The file in a run directory that asks its process to end."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a run is asked to end."""

    def __init__(self, directory: Path, say: Callable[[str], None]) -> None:
        self._file = directory / CANCEL
        self._file.unlink(missing_ok=True)  # meant for a process before
        self._say = say
        self._signalled = False
        self._said = False
        self.now = False
        """Whether someone asked twice."""

    def requested(self) -> bool:
        """Whether someone asked. Looks for the file: not for use on an event loop."""
        if not (self._signalled or self._file.exists()):
            return False
        if not self._said:
            self._said = True
            self._say("stopping: the running chunks are finished first; Ctrl-C again stops at once")
        return True

    def request(self) -> None:
        """Ask for the run's end, as the first signal does."""
        self._signalled = True

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Within the block, the first signal is a request, and the second interrupts.

        Signals reach the main thread only; in another one this does nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            self.now = True
            raise KeyboardInterrupt
        self._signalled = True
