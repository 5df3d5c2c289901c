"""What a command takes: seconds, CPU seconds and memory of all its processes together.

Memory is the proportional set size (PSS, proc(5) `smaps_rollup`) summed over the process tree, so
that a page shared by several processes counts once. It is sampled: a peak between two samples is
missed. Pages of mapped files are in it, though the system may drop them; `anon` is
the peak without them.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parents[2]
"""The project's folder: commands run here, so that `benchmarks` can be imported."""

_SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_SHORTEST_PAUSE: Final = 0.002
_PATIENCE: Final = 10.0


class CommandFailedError(Exception):
    """A measured command ended with an error; the text is what it said last."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command took.

    Attributes:
        wall: Seconds from its start to its end.
        cpu: User and system seconds of all its processes.
        pss: Peak of its processes' proportional memory together, bytes.
        anon: Peak of the part of that which no file backs, bytes.
    """

    wall: float
    cpu: float
    pss: int
    anon: int


def run(
    command: Sequence[str], *, cores: int, environment: Mapping[str, str], duty: float
) -> Usage:
    """Run a command to its end.

    Args:
        command: Its words.
        cores: How many it may run on.
        environment: Variables added to ours.
        duty: Share of a core to spend on sampling its memory.

    Returns:
        What it took.

    Raises:
        CommandFailedError: It ended with an error.
    """
    _adopt_orphans()
    before = _children_seconds()
    with tempfile.TemporaryFile() as said:
        with _limited_to(cores):
            start = time.perf_counter()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
        with _MemorySampler(duty) as memory:
            code = process.wait()
            wall = time.perf_counter() - start
        _reap_orphans()
        if code != 0:
            raise CommandFailedError(_last_line(said.fileno()) or f"exit code {code}")
        return Usage(wall, _children_seconds() - before, memory.pss, memory.anon)


class _MemorySampler(threading.Thread):
    """Samples the memory of all processes that descend from this one, until the block ends."""

    def __init__(self, duty: float) -> None:
        super().__init__(daemon=True)
        self.pss = self.anon = 0
        self._duty = duty
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            start = time.thread_time()
            sizes = [_memory(pid) for pid in descendants(os.getpid())]
            self.pss = max(self.pss, sum(pss for pss, _ in sizes))
            self.anon = max(self.anon, sum(anon for _, anon in sizes))
            pause = max(_SHORTEST_PAUSE, (time.thread_time() - start) / self._duty)


def descendants(pid: int) -> list[int]:
    """Every process that `pid` started, and those that these did."""
    found: list[int] = []
    queue = [pid]
    while queue:
        for children in _threads(queue.pop()):
            with suppress(OSError):  # it may end at any time
                queue += (born := [int(child) for child in children.read_text("ascii").split()])
                found += born
    return found


def _threads(pid: int) -> list[Path]:
    """The files that list the children of a process's threads; none if it has ended."""
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").glob("*/children"))
    return []


def _memory(pid: int) -> tuple[int, int]:
    """Bytes of a process's proportional memory, and of that what no file backs."""
    sizes: dict[str, int] = {}
    with suppress(OSError, ValueError):  # it may end at any time
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]:
            name, size, *_ = line.split()
            sizes[name] = int(size) * 1024
    return sizes.get("Pss:", 0), sizes.get("Pss_Anon:", 0) + sizes.get("Pss_Shmem:", 0)


@contextmanager
def _limited_to(cores: int) -> Iterator[None]:
    """Let what is started in the block run on so many cores, the last ones, at most."""
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[-cores:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def _adopt_orphans() -> None:
    # A server that outlives its starter by a moment would otherwise escape the sum of CPU seconds.
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        raise OSError("this system's /proc does not tell the children of a process")
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _reap_orphans() -> None:
    deadline = time.monotonic() + _PATIENCE
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.001)
        raise CommandFailedError(f"it left processes behind: {descendants(os.getpid())}")


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _last_line(file: int) -> str:
    """The last line of a file, but for Rust's hint after a panic."""
    os.lseek(file, 0, os.SEEK_SET)
    lines = os.read(file, 1 << 20).decode("utf-8", "replace").strip().splitlines()
    said = [line for line in lines if not line.startswith("note: ")]
    return said[-1] if said else ""
