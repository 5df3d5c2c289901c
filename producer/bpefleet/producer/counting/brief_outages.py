"""Bearing with a Redis that is just being restarted or is full for a moment."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from redis.exceptions import (
    BusyLoadingError,
    ExecAbortError,
    OutOfMemoryError,
    TryAgainError,
    WatchError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TRANSIENT: Final = (BusyLoadingError, ExecAbortError, OutOfMemoryError, TryAgainError, WatchError)
"""What connections do not retry by themselves, since a transaction was cut in two. Doing all of it
again is right here: what should be queued is compared with what is.
"""

_PATIENCE: Final = 120.0


class Hiccups:
    """Passes over errors that go away, unless they go on for two minutes."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._since: float | None = None

    @contextmanager
    def bearing(self) -> Iterator[None]:
        """Pass over such an error in the block.

        Raises:
            RedisError: It has gone on for too long, or is of another kind.
        """
        try:
            yield
        except _TRANSIENT as error:
            now = time.monotonic()
            if self._since is None:
                self._since = now
                self._warn(f"Redis hiccups ({error}); going on")
            elif now - self._since > _PATIENCE:
                raise
        else:
            self._since = None
