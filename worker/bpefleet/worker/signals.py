"""Waits for signals, in place of handlers that could interrupt the pool at any step."""

from __future__ import annotations

import select
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

STOPS: Final = (signal.SIGTERM, signal.SIGINT)
_AWAITED: Final = (*STOPS, signal.SIGCHLD)


class Signals:
    """A context manager in which SIGTERM, SIGINT and SIGCHLD only end `wait`.

    For the main thread. A handler that acted itself could run between any two steps of the pool:
    just after a child was reaped, or just before one is forked.
    """

    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.setblocking(False)

    def __enter__(self) -> Self:
        """Begin to collect."""
        signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        for number in _AWAITED:
            signal.signal(number, lambda *_: None)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals their default effect again."""
        self.leave()

    def wait(self, seconds: float) -> list[int]:
        """Wait for any signal, or until the time is up. Returns the stop signals, in their order.

        The end of a child ends the wait as well, and returns none.
        """
        select.select([self._near], [], [], seconds)
        came = b""
        with suppress(BlockingIOError):
            came = self._near.recv(1 << 12)
        return [number for number in came if number in STOPS]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, stop signals wait: one for a new child must not be noted here."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)

    def leave(self) -> None:
        """In a child that was forked while they were held: treat signals as any process does."""
        for number in _AWAITED:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        self._near.close()
        self._far.close()
