"""Memory, in bytes: the peak of processes, and what there is."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in what the system counts by: macOS in bytes, others in KiB."""


_CGROUP_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where a container's system tells how much it may use, in the second and the first version."""


def memory_limit() -> int:
    """The memory that this machine, or the container that this process is in, has, bytes."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            return min(whole, int(path.read_text("ascii")))
    return whole


def peak_of(usage: resource.struct_rusage) -> int:
    """The peak resident memory that `usage` tells of, bytes."""
    return usage.ru_maxrss * _UNIT


def peak_rss() -> int:
    """The peak resident memory of this process, bytes."""
    return peak_of(resource.getrusage(resource.RUSAGE_SELF))
