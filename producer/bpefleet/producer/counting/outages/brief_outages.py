"""Goes on when Redis is just being restarted, or is full for a moment."""

from __future__ import annotations

import logging
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
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

_TRANSIENT: Final = (BusyLoadingError, ExecAbortError, OutOfMemoryError, TryAgainError, WatchError)
"""Errors that connections do not retry by themselves, since a transaction may have been cut in two.
Here it may simply be done again: the sweep compares what should be queued with what is.
"""

_PATIENCE: Final = 120.0


class BriefOutages:
    """Passes over errors that go away, unless they go on for two minutes."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._full = False

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
                logger.warning("Redis fails for a moment (%s); going on", error)
            elif now - self._since > _PATIENCE:
                raise
        else:
            self._since = None

    def full(self) -> None:
        """Redis has no room: say so, once until it has."""
        if not self._full:
            logger.warning("Redis is full (maxmemory); waiting for room")
        self._full = True

    def has_room(self) -> None:
        """Redis has room."""
        self._full = False
