"""Asks about once a second whether Redis answers, and reports when an outage begins and ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError

from bpefleet.shared.redis.connect import connect_once
from bpefleet.shared.redis.diagnosis import explained
from bpefleet.shared.redis.redis_url import redacted

if TYPE_CHECKING:
    from redis import Redis

EVERY: Final = 1.0
"""Seconds between two questions."""

_PATIENCE: Final = 1.0
"""Seconds that each part of an answer may take."""

_MISSED: Final = 2
"""Questions in a row without an answer until Redis counts as away: some four seconds."""


class Pinger:
    """Asks one Redis, on its own connection, and remembers since when it is away.

    Attributes:
        away_since: Unix seconds of the first question without an answer; 0 if Redis is not away.
    """

    def __init__(self, url: str) -> None:
        """Prepare to ask; nothing is connected yet.

        Raises:
            QueueError: `url` is not a Redis URL.
        """
        self.away_since = 0.0
        self._url = url
        self._connection: Redis = connect_once(url, _PATIENCE)
        self._missed = 0
        self._first_missed = 0.0
        self._next = time.monotonic()

    @property
    def due_in(self) -> float:
        """Seconds until it is time to ask again."""
        return max(0.0, self._next - time.monotonic())

    def ask(self) -> str:
        """Ask. Takes some seconds if there is no answer.

        Returns:
            For people: that Redis is away, or that it is back; empty if nothing changed.
        """
        self._next, asked = time.monotonic() + EVERY, time.time()
        try:
            self._connection.ping()
        except (RedisError, OSError) as error:
            self._missed += 1
            if self._missed == 1:
                self._first_missed = asked
            if self._missed < _MISSED or self.away_since:
                return ""
            self.away_since = self._first_missed
            return f"{explained(self._url, error).message}; waiting for it"
        return self._answered()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _answered(self) -> str:
        since, self.away_since, self._missed = self.away_since, 0.0, 0
        if not since:
            return ""
        return f"Redis at {redacted(self._url)} answers again, after {time.time() - since:.0f} s"
