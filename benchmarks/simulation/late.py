"""The steps of an event loop that took too long: what they were, and why.

By the clock a step is also long if another process had the core; by its CPU time it is not. The
garbage collection of Python strikes whoever allocates next.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from heapq import heappush, heapreplace
from typing import Any, Final

LATE: Final = 0.1
"""Seconds: a step of the loop that takes longer holds up what others wait for."""
_NAMED: Final = 10
_DEPTH: Final = 3
"""Coroutines of a step that are named, from the innermost outwards."""


class LateSteps:
    """Times the steps of event loops.

    Attributes:
        late: How many took longer than `LATE`.
        longest: Seconds of the longest by the clock.
        busiest: Most CPU seconds of a step.
        collecting: Seconds of garbage collection, in all threads.
    """

    def __init__(self) -> None:
        self.late = 0
        self.longest = 0.0
        self.busiest = 0.0
        self.collecting = 0.0
        self._worst: list[tuple[float, float, float, str]] = []
        self._here = threading.local()
        gc.callbacks.append(self._collected)

    def run(self, run: Any, handle: Any) -> None:
        """Run a step, and note how long it took."""
        collected = self._collecting
        start, cpu = time.perf_counter(), time.thread_time()
        run(handle)
        took, took_cpu = time.perf_counter() - start, time.thread_time() - cpu
        self.longest = max(self.longest, took)
        self.busiest = max(self.busiest, took_cpu)
        if took > LATE:
            self.late += 1
            add = heappush if len(self._worst) < _NAMED else heapreplace
            add(self._worst, (took, took_cpu, self._collecting - collected, _name(handle)))

    @property
    def worst(self) -> list[dict[str, Any]]:
        """The longest ones."""
        return [
            {
                "seconds": round(took, 4),
                "cpu": round(cpu, 4),
                "collecting": round(collecting, 4),
                "step": step,
            }
            for took, cpu, collecting, step in sorted(self._worst, reverse=True)
        ]

    @property
    def _collecting(self) -> float:
        """Seconds of garbage collection in this thread."""
        return getattr(self._here, "seconds", 0.0)

    def _collected(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._here.since = time.perf_counter()
        else:
            took = time.perf_counter() - self._here.since
            self._here.seconds = self._collecting + took
            self.collecting += took


def _name(handle: asyncio.Handle) -> str:
    """What a step was, by where it stands after it."""
    callback = handle._callback  # type: ignore[attr-defined]  # noqa: SLF001  nothing else tells
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return str(getattr(callback, "__qualname__", callback))[:100]
    names = []
    coroutine: Any = task.get_coro()
    while coroutine is not None and hasattr(coroutine, "cr_await"):
        line = f":{coroutine.cr_frame.f_lineno}" if coroutine.cr_frame else ""
        names.append(f"{coroutine.__qualname__}{line}")
        coroutine = coroutine.cr_await
    return " < ".join(reversed(names[-_DEPTH:]))
