"""Looks on while a simulation runs: what is shown of the run, and how much memory it takes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.wire.keys import RUNS, detail_key, status_key
from bpefleet.shared.wire.shown.status import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.simulation.scenario import Scenario
    from bpefleet.shared.redis.connect import FleetRedis

_EVERY: Final = 0.5
_STANDSTILL: Final = 10.0
"""Seconds from one standstill of Redis to the next."""
_QUARTERS: Final = 4
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Seen:
    """What was seen of a run.

    Attributes:
        snapshot: Bytes of the greatest snapshot that was posted.
        detail: Likewise of the page's detail.
        course: After each quarter of the chunks: how many, and the bytes of memory of the producer
            and of Redis.
        quarters: How many of these are over.
    """

    snapshot: int = 0
    detail: int = 0
    course: list[dict[str, int]] = field(default_factory=list)
    quarters: int = 0


@contextmanager
def looking_on(redis: FleetRedis, scenario: Scenario, producer: int) -> Iterator[Seen]:
    """Look on, and let Redis stand still now and then, if asked.

    Args:
        redis: The Redis.
        scenario: What is simulated.
        producer: The producer's process.
    """
    seen, over = Seen(), threading.Event()

    def look() -> None:
        due = time.monotonic() + _STANDSTILL
        is_over = False
        while not is_over:
            is_over = over.wait(_EVERY)  # and one more look at what is left
            with suppress(Exception):
                _look(redis, seen, scenario, producer)
                if scenario.slow_redis and time.monotonic() > due:
                    due += _STANDSTILL
                    redis.client_pause(int(1000 * scenario.slow_redis))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def _look(redis: FleetRedis, seen: Seen, scenario: Scenario, producer: int) -> None:
    runs: Any = redis.zrange(RUNS, 0, -1)
    for run in (name.decode() for name in runs):
        snapshot: Any = redis.get(status_key(run)) or b""
        detail: Any = redis.strlen(detail_key(run))
        seen.snapshot = max(seen.snapshot, len(snapshot))
        seen.detail = max(seen.detail, detail)
        counted = Snapshot.from_bytes(snapshot).counted
        quarters = counted * _QUARTERS // scenario.chunks
        if quarters > seen.quarters:  # of a short run, one look may find several
            seen.quarters = quarters
            pages = int(Path(f"/proc/{producer}/statm").read_text("ascii").split()[1])
            memory: Any = redis.info("memory")
            seen.course.append(
                {"chunks": counted, "producer": pages * _PAGE, "redis": memory["used_memory"]}
            )


def cpu_of(process: int) -> float:
    """CPU seconds that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
