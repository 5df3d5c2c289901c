"""The producer, measured: `python -m benchmarks.simulation.producer RESULT SLOW_DISK TRAIN…`.

It is `bpefleet train` in this process, whose event loop's steps are timed, and whose disk may be
slow. RESULT gets JSON: what `late.LateSteps` has, and `cpu`, the CPU seconds by step.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.simulation.late import LateSteps
from benchmarks.simulation.steps import LOOP, Steps
from bpefleet.producer.cli.entry import main


def time_steps(late: LateSteps, steps: Steps) -> None:
    """Time each step of every event loop of this process."""
    handle: Any = asyncio.events.Handle
    run = steps.timed(LOOP, handle._run)  # noqa: SLF001  there is no other place that all pass
    handle._run = lambda self: late.run(run, self)  # noqa: SLF001


def slow_down(seconds: float) -> None:
    """Make each fsync take longer."""
    sync = os.fsync

    def slow(descriptor: int) -> None:
        time.sleep(seconds)
        sync(descriptor)

    os.fsync = slow  # type: ignore[assignment]


if __name__ == "__main__":
    result, disk, *rest = sys.argv[1:]
    watched, slow = Steps(), LateSteps()
    time_steps(slow, watched)
    watched.watch()
    if float(disk):
        slow_down(float(disk))

    def tell() -> None:
        """Write all of it down."""
        figures = {
            "longest_step": round(slow.longest, 4),
            "busiest_step": round(slow.busiest, 4),
            "late_steps": slow.late,
            "worst_steps": slow.worst,
            "collecting": round(slow.collecting, 4),
            "cpu": watched.seconds,
        }
        Path(result).write_text(json.dumps(figures), "utf-8")

    atexit.register(tell)
    sys.argv[1:] = rest
    main()
