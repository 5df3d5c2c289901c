"""What is simulated: how many workers and chunks, which payloads, what goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

PAYLOADS: Final = ("empty", "small", "synthetic", "en64", "multi64", "code64")
"""What each chunk answers with: `empty` counts of no text; `small`, of 4 kB; `synthetic`, of 64 MB
that a law stands for; the others, of up to 64 MB of a corpus. Each worker has another stretch.
"""
SMALL: Final = frozenset({"empty", "small"})
"""Those of which many travel together."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One simulation.

    Attributes:
        workers: How many are registered, alive and served.
        chunks: How many chunks the run has.
        payloads: One of `PAYLOADS`.
        seconds: What a chunk takes a worker. With 0 it is as long as this machine's core counts it.
        stragglers: Share of attempts that take ten times as long.
        deaths: Share of attempts in which the worker dies, and another one joins.
        slow_disk: Seconds that each fsync of the producer takes longer.
        slow_redis: Seconds that Redis stands still in every ten.
        signed: Whether the fleet has a key.
        exchange: Whether counts go through an exchange.
    """

    workers: int
    chunks: int
    payloads: str
    seconds: float
    stragglers: float = 0.0
    deaths: float = 0.0
    slow_disk: float = 0.0
    slow_redis: float = 0.0
    signed: bool = False
    exchange: bool = False

    @property
    def name(self) -> str:
        """What its record is called: no other kind of scenario takes its place."""
        faults = self.stragglers or self.deaths or self.slow_disk or self.slow_redis
        kinds = {"exchange": self.exchange, "signed": self.signed, "faults": faults}
        return "-".join([self.payloads, *(kind for kind, is_so in kinds.items() if is_so)])

    @property
    def case(self) -> str:
        """It in words."""
        wrong = {
            "stragglers": self.stragglers,
            "deaths": self.deaths,
            "slow disk": self.slow_disk,
            "slow Redis": self.slow_redis,
            "signed": self.signed,
            "exchange": self.exchange,
        }
        told = "".join(f", {name} {value:g}" for name, value in wrong.items() if value)
        return f"{self.workers:,} workers, {self.chunks:,} chunks, {self.payloads}{told}"

    def to_json(self) -> str:
        """This scenario as one line."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, line: str) -> Scenario:
        """The scenario that `to_json` wrote."""
        return msgspec.json.decode(line, type=cls)
