"""Follows who serves the queue: who joins and leaves, who does not belong to the run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bpefleet.producer.queueing.serving.other_keys import OtherKeys
from bpefleet.producer.queueing.serving.workers import seen_workers
from bpefleet.shared.process.amounts import several
from bpefleet.shared.process.repeated_warnings import RepeatedWarnings

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from bpefleet.producer.queueing.serving.workers import Seen

logger = logging.getLogger(__name__)

_NAMED: Final = 10
"""Workers that are named at once when they join or leave."""


class WorkersSeen:
    """The workers as of the last look.

    Attributes:
        seen: All of them, by name: also strangers, and those with another key.
        names: Theirs.
        other_keys: Tells of the latter.
    """

    def __init__(self, redis: Redis, key_id: str) -> None:
        self.seen: list[Seen] = []
        self.names: frozenset[str] = frozenset()
        self.other_keys = OtherKeys(key_id)
        self._redis = redis
        self._ours: set[str] = set()
        self._strangers: set[str] = set()
        self._odd = RepeatedWarnings(
            logger, "workers of the queue are no bpefleet workers; stop them"
        )

    def __len__(self) -> int:
        """How many are of the fleet, with the run's key."""
        return len(self._ours)

    async def look(self) -> None:
        """Look who is there, and log what changed.

        Raises:
            RedisError: Redis is lost.
        """
        self.seen = await seen_workers(self._redis)
        self.names = frozenset(seen.name for seen in self.seen)
        ours = {seen.name for seen in self.seen if self.other_keys.ours(seen)}
        _log("joined", ours - self._ours)
        _log("left", self._ours - ours)
        self._ours = ours
        self.other_keys.look(self.seen)
        for seen in self.seen:
            if not seen.is_ours and seen.name not in self._strangers:
                self._strangers.add(seen.name)
                self._odd.tell(
                    f"{seen.name} serves the queue and is no bpefleet worker: it runs whatever is "
                    "written to Redis; stop it",
                    worker=seen.name,
                )

    def sum_up(self) -> None:
        """Say how many strangers there were, if that was not said of each."""
        self._odd.sum_up()
        self.other_keys.sum_up()


def _log(what: str, names: set[str]) -> None:
    """Say which workers joined or left; of many at once, only how many."""
    if len(names) > _NAMED:
        logger.info("%s %s", several(len(names), "worker"), what)
        return
    for name in sorted(names):
        logger.info("worker %s %s", name, what, extra={"worker": name})
