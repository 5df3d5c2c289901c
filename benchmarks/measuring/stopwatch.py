"""Stages of a training, timed inside the process that trains.

Most trainers are one call, so that counting and merging cannot be timed from outside. Two ways
lead inside without touching them:

- A trainer that reads an iterator in batches asks for the batch after the last only when it has
  counted the last. `until_read` puts documents of one newline at the end, enough to fill two
  batches, and takes the time when the trainer has asked for all of them. They change nothing: a
  pre-token of one byte holds no pair. (Empty documents would do, but bpeasy passes over them.)
- A trainer that says on stderr when it has counted is timed when it says so, by a forked process:
  no thread of ours runs while the trainer holds the interpreter's lock. See `until_says`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Lap:
    """Seconds of one stage: by the clock, and of all threads of the process."""

    wall: float
    cpu: float


class Stopwatch:
    """Laps from one `start`."""

    def __init__(self) -> None:
        self.laps: dict[str, Lap] = {}
        self._last = _now(os.getpid())

    def start(self) -> None:
        """Begin the first lap here."""
        self._last = _now(os.getpid())

    def lap(self, name: str, at: tuple[float, float] | None = None) -> None:
        """End a lap, now or at an earlier time."""
        wall, cpu = at or _now(os.getpid())
        self.laps[name] = Lap(wall - self._last[0], cpu - self._last[1])
        self._last = wall, cpu

    def until_read(self, documents: Iterable[str], batch: int, name: str) -> Iterator[str]:
        """The documents, then `2 * batch` more; a lap ends when all have been asked for."""
        yield from documents
        for _ in range(2 * batch):
            yield "\n"
        self.lap(name)

    @contextmanager
    def until_says(self, words: str, name: str) -> Iterator[None]:
        """End a lap when a line with these words comes on stderr within the block."""
        lines, says = os.pipe()
        times, reports = os.pipe()
        watched = os.getpid()
        watcher = os.fork()
        if watcher == 0:
            os.close(says)
            _report(lines, words, watched, reports)
        os.close(lines)
        os.close(reports)
        with _stderr_to(says):
            yield
        with os.fdopen(times) as report:
            said = json.loads(report.read() or "null")
        os.waitpid(watcher, 0)
        if said is None:
            raise RuntimeError(f"the trainer never said {words!r}")
        self.lap(name, (said[0], said[1]))


def _now(pid: int) -> tuple[float, float]:
    """The clock, which all processes share, and the CPU time of process `pid`."""
    # The clock's number as in the kernel's include/linux/posix-timers.h (CPUCLOCK_SCHED of a pid),
    # which clock_getcpuclockid(3) computes; Python does not offer that function.
    return time.perf_counter(), time.clock_gettime((~pid << 3) | 2)


@contextmanager
def _stderr_to(file: int) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file, 2)
    os.close(file)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _report(lines: int, words: str, watched: int, reports: int) -> None:
    """Write when the line came, once the pipe is closed; ends the process."""
    found: tuple[float, float] | None = None
    with os.fdopen(lines, errors="replace") as said:
        for line in said:
            if found is None and words in line:
                found = _now(watched)
    os.write(reports, json.dumps(found).encode())
    os._exit(0)
