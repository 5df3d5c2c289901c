"""Tells of workers whose key is not the run's, the likeliest mistake in a fleet."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bpefleet.producer.queueing.workers import Seen


class OtherKeys:
    """Compares the keys of workers with a run's, by their ids (`Signer.key_id`)."""

    def __init__(self, mine: str, warn: Callable[[str], None]) -> None:
        self._mine = mine
        self._warn = warn
        self._told: set[tuple[str, str]] = set()

    def ours(self, seen: Seen) -> bool:
        """Whether it is a worker of the fleet's and says that it has the run's key, or none too."""
        return seen.is_ours and seen.key == self._mine

    def look(self, workers: Iterable[Seen]) -> None:
        """Say, once for each machine and key, which workers have another key than the run."""
        others = Counter(
            (seen.host, seen.key) for seen in workers if seen.is_ours and seen.key != self._mine
        )
        for (host, key), count in others.items():
            if (host, key) not in self._told:
                self._told.add((host, key))
                number = "a worker" if count == 1 else f"{count} workers"
                self._warn(
                    f"{number} on {host}: {_has(key)}, and this run {_has(self._mine)}; none "
                    "of its chunks is counted there; give producer and workers the same --key-file"
                )


def _has(key: str) -> str:
    return f"has key {line(key)}" if key else "has no key"
