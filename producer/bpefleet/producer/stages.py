"""What a stage took: seconds and memory, for the manifest."""

from __future__ import annotations

import resource
import sys
import time
from typing import Final

_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def stage(start: float) -> dict[str, float | int]:
    """Seconds since `start` (of `time.perf_counter`), and this process's peak memory in bytes."""
    return {"seconds": round(time.perf_counter() - start, 6), "peak_rss": peak_rss()}


def peak_rss() -> int:
    """The peak resident memory of this process, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
