"""Measures a stage for the manifest: seconds, CPU seconds and memory."""

from __future__ import annotations

import time

from bpefleet.shared.process.memory import peak_rss


class Stage:
    """A stage that begins when this is made.

    Attributes:
        at: Its begin, in Unix seconds.
    """

    def __init__(self) -> None:
        self.at = time.time()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._wall

    def took(self) -> dict[str, float | int]:
        """Seconds so far, CPU seconds of this process's threads, and its peak memory in bytes."""
        return {
            "seconds": round(self.seconds, 6),
            "cpu_seconds": round(time.process_time() - self._cpu, 6),
            "peak_rss": peak_rss(),
        }
