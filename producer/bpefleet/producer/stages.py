"""What a stage took: seconds and memory, for the manifest."""

from __future__ import annotations

import time

from bpefleet.shared.memory import peak_rss


def stage(start: float) -> dict[str, float | int]:
    """Seconds since `start` (of `time.perf_counter`), and this process's peak memory in bytes."""
    return {"seconds": round(time.perf_counter() - start, 6), "peak_rss": peak_rss()}
