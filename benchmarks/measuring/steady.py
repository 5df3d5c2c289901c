"""CPU seconds of a training where everything is up: imports done, server and workers waiting.

The process trains once for nobody, then several times for the record. What the count stage takes
is the CPU time of the producer's stages before merging, of its trainer while it folds, and of the
server and the workers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measuring.fleet import fleet
from benchmarks.measuring.stopwatch import Lap
from benchmarks.measuring.usage import descendants
from benchmarks.ours import tokens_in

if TYPE_CHECKING:
    from benchmarks.measuring.stopwatch import Stopwatch
    from benchmarks.task import Task

IN_PROCESS: Final = "in process, warm"
QUEUED: Final = "workers, warm"

_RUNS: Final = 4
_COUNTING: Final = ("plan", "count", "fold")
_MERGING: Final = ("merge", "artifacts")
_TICK: Final = os.sysconf("SC_CLK_TCK")


def in_process(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Train with no queue; the learned tokens."""
    return _train(task, watch, None)


def queued(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Train with as many workers as the task has threads; the learned tokens."""
    with fleet(task.threads) as url:
        return _train(task, watch, url)


def _train(task: Task, watch: Stopwatch, url: str | None) -> list[bytes]:
    from bpefleet.producer import train  # noqa: PLC0415  only where it is measured

    stages: list[dict[str, Any]] = []
    before = 0.0
    for number in range(_RUNS + 1):
        with TemporaryDirectory() as folder:
            vocab_size, out = 257 + task.merges, Path(folder) / "out"
            done = train(
                task.files,
                vocab_size=vocab_size,
                out=out,
                pattern=task.pattern,
                redis=url,
                workers=0,
                report=False,
            )
            if number == 0:
                before = _children_seconds()
            else:
                stages.append(done.manifest["stages"])
            tokens = tokens_in(out)
    others = (_children_seconds() - before) / _RUNS
    watch.laps["count"] = _lap(stages, _COUNTING, others)
    watch.laps["merge"] = _lap(stages, _MERGING, 0.0)
    return tokens


def _lap(runs: list[dict[str, Any]], names: tuple[str, ...], more: float) -> Lap:
    """The mean of some stages, by name, over the runs; `more` CPU seconds on top."""
    found = [[run[name] for name in names if name in run] for run in runs]
    wall, cpu = (
        mean(sum(stage[unit] for stage in stages) for stages in found)
        for unit in ("seconds", "cpu_seconds")
    )
    return Lap(wall, cpu + more)


def _children_seconds() -> float:
    """CPU seconds so far of the processes below this one, and of those that they waited for."""
    ticks = 0
    for pid in descendants(os.getpid()):
        with suppress(OSError):  # it may end at any time
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICK
