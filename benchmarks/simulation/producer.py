"""The producer, measured: `python -m benchmarks.simulation.producer RESULT SLOW_DISK TRAIN…`.

It is `bpefleet train` in this process, whose event loop's steps are timed, and whose disk may be
slow. RESULT gets JSON: `longest_step`, by the clock, and `busiest_step`, by its CPU time, in
seconds, `late_steps` (over 100 ms), and `cpu`, the CPU seconds by step.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.simulation.steps import LOOP, Steps
from bpefleet.producer.cli.entry import main

LATE: Final = 0.1
"""Seconds: a step of the loop that takes longer holds up what others wait for."""


def time_steps(said: dict[str, Any], steps: Steps) -> None:
    """Time each step of every event loop of this process."""
    handle: Any = asyncio.events.Handle
    run = steps.timed(LOOP, handle._run)  # noqa: SLF001  there is no other place that all pass

    def timed(self: Any) -> None:
        start, cpu = time.perf_counter(), time.thread_time()
        run(self)
        if (took := time.perf_counter() - start) > said["longest_step"]:
            said["longest_step"] = round(took, 4)
        if (took_cpu := time.thread_time() - cpu) > said["busiest_step"]:
            said["busiest_step"] = round(took_cpu, 4)
        said["late_steps"] += took > LATE

    handle._run = timed  # noqa: SLF001


def slow_down(seconds: float) -> None:
    """Make each fsync take longer."""
    sync = os.fsync

    def slow(descriptor: int) -> None:
        time.sleep(seconds)
        sync(descriptor)

    os.fsync = slow  # type: ignore[assignment]


if __name__ == "__main__":
    result, disk, *rest = sys.argv[1:]
    watched = Steps()
    figures: dict[str, Any] = {"longest_step": 0.0, "busiest_step": 0.0, "late_steps": 0}
    figures["cpu"] = watched.seconds
    time_steps(figures, watched)
    watched.watch()
    if float(disk):
        slow_down(float(disk))
    atexit.register(lambda: Path(result).write_text(json.dumps(figures), "utf-8"))
    sys.argv[1:] = rest
    main()
