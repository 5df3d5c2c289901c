"""How fast the machine reads memory: the C library's memchr(3) over the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.measuring.stopwatch import Stopwatch
    from benchmarks.task import Task

NAME: Final = "memchr in memory"
STAGE: Final = "read"
_NOWHERE: Final = b"\xff"
"""A byte that UTF-8 never holds: all of the text is read, and nothing found."""


def read(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Read the text once, after a first time that brings it into memory."""
    text = task.data()
    text.find(_NOWHERE)
    watch.start()
    text.find(_NOWHERE)
    watch.lap(STAGE)
    return []
