"""A word from another thread that a run is to end: what Ctrl-C is to a run in the main thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CURRENT: Final[ContextVar[Halt]] = ContextVar("halt")


class Halt:
    """Passes the word on to whatever stage the run is in.

    Attributes:
        asked: How often it was given.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._heed: Callable[[int], object] = int
        self._still = threading.Lock()

    @classmethod
    def current(cls) -> Halt:
        """That of the run that this context is about to start; one that nobody has, if none."""
        return _CURRENT.get(None) or cls()

    @contextmanager
    def of_run(self) -> Iterator[Self]:
        """Within the block, a run that starts is to heed this."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def ask(self) -> None:
        """Ask the run to end; the second time, to end now."""
        with self._still:
            self.asked += 1
            self._heed(self.asked)

    @contextmanager
    def heeded_by(self, heed: Callable[[int], object]) -> Iterator[None]:
        """Within the block, `heed` is told, also of what came before, how often it was asked."""
        with self._still:
            before, self._heed = self._heed, heed
            if self.asked:
                heed(self.asked)
        try:
            yield
        finally:
            with self._still:
                self._heed = before
