"""The machine that a program runs on: whether it is supported, and its number of cores."""

from __future__ import annotations

import os
import sys

from bpefleet.shared.errors import UsageError


def demand_supported() -> None:
    """Check that this system has what bpefleet needs: POSIX processes, locks and sockets.

    Raises:
        UsageError: It lacks them.
    """
    if os.name != "posix" or sys.platform in ("cygwin", "emscripten", "wasi"):
        raise UsageError(
            f"bpefleet runs on Linux and macOS, not on {sys.platform}",
            hint="on Windows use WSL, the Windows Subsystem for Linux",
        )


def cores() -> int:
    """How many cores this process may use; at least one."""
    if hasattr(os, "sched_getaffinity"):  # Linux; elsewhere a process can use all cores
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
