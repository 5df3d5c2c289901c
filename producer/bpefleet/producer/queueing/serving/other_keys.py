"""Tells of workers whose key is not the run's, the likeliest mistake in a fleet."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.queueing.serving.workers import Seen

logger = logging.getLogger(__name__)


class OtherKeys:
    """Compares the keys of workers with a run's, by their ids (`Signer.key_id`)."""

    def __init__(self, mine: str) -> None:
        self._mine = mine
        self._repeated = RepeatedWarnings(logger, "kinds of workers have another key than the run")
        self._told: set[tuple[str, str]] = set()

    def ours(self, seen: Seen) -> bool:
        """Whether it is a worker of the fleet's and says that it has the run's key, or none too."""
        return seen.is_ours and seen.key == self._mine

    def look(self, workers: Iterable[Seen]) -> None:
        """Say, once for each machine and key, which workers have another key than the run."""
        others = (each for each in workers if each.is_ours and not self.ours(each))
        for (host, key), count in Counter((each.host, each.key) for each in others).items():
            who = f"a worker on {host} has" if count == 1 else f"{count} workers on {host} have"
            self._say(who, host, key)

    def refused(self, key: str) -> None:
        """Say, unless it was said, that a worker with such a key refused a chunk of the run's."""
        if all(told != key for _, told in self._told):
            self._say("a worker that refused a chunk has", "", key)

    def sum_up(self) -> None:
        """Say how many there were, if that was not said of each."""
        self._repeated.sum_up()

    def _say(self, who: str, host: str, key: str) -> None:
        if (host, key) in self._told:
            return
        self._told.add((host, key))
        self._repeated.tell(
            f"{who} {_named(key)}, and this run has {_named(self._mine)}; none of its chunks is "
            "counted there; give producer and workers the same --key-file",
            host=host,
            key=key,
        )


def _named(key: str) -> str:
    return f"key {line(key)}" if key else "no key"
