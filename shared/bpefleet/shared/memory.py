"""Peak memory of processes, in bytes."""

from __future__ import annotations

import resource
import sys
from typing import Final

_UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in what the system counts by: macOS in bytes, others in KiB."""


def peak_of(usage: resource.struct_rusage) -> int:
    """The peak resident memory that `usage` tells of, bytes."""
    return usage.ru_maxrss * _UNIT


def peak_rss() -> int:
    """The peak resident memory of this process, bytes."""
    return peak_of(resource.getrusage(resource.RUSAGE_SELF))
