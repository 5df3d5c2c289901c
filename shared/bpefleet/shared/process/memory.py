"""Memory in bytes: the peak of a process, and the limit of the machine."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit that the system reports in: macOS in bytes, others in KiB."""


_CGROUP_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""The files with a container's memory limit, by version 2 and version 1 of control groups."""


def memory_limit() -> int:
    """The memory of this machine, or of the container that this process is in, in bytes."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            return min(whole, int(path.read_text("ascii")))
    return whole


def peak_of(usage: resource.struct_rusage) -> int:
    """The peak resident memory in `usage`, in bytes."""
    return usage.ru_maxrss * _UNIT


def peak_rss() -> int:
    """The peak resident memory of this process, in bytes."""
    return peak_of(resource.getrusage(resource.RUSAGE_SELF))
