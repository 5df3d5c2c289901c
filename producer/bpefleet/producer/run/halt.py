"""Stops a run from another thread, as Ctrl-C does in the main thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.store.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_CURRENT: Final[ContextVar[Halt]] = ContextVar("halt")


class Halt:
    """Passes a request to stop on to the stage that the run is in.

    Attributes:
        asked: How often somebody asked.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._heed: Callable[[int], object] = int
        self._still = threading.Lock()

    @classmethod
    def current(cls) -> Halt:
        """The one of the run that this context starts; if there is none, one that nobody asks."""
        return _CURRENT.get(None) or cls()

    @contextmanager
    def of_run(self) -> Iterator[Self]:
        """Within the block, a run that is started obeys this one."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def ask(self) -> None:
        """Ask the run to stop; the second time, to stop at once."""
        with self._still:
            self.asked += 1
            self._heed(self.asked)

    @contextmanager
    def heeded_by(self, heed: Callable[[int], object]) -> Iterator[None]:
        """Within the block, call `heed` with the number of requests, at once if there were any."""
        with self._still:
            before, self._heed = self._heed, heed
            if self.asked:
                heed(self.asked)
        try:
            yield
        finally:
            with self._still:
                self._heed = before


@contextmanager
def stopping(path: Path) -> Iterator[Stop]:
    """What stops a run early: a signal, a file in its directory, a cancelled task."""
    stop = Stop(path)

    def heed(asked: int) -> None:
        stop.now = asked > 1
        stop.request()

    with Halt.current().heeded_by(heed):
        yield stop
