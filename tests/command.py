"""Running the `bpefleet` command as a process, and watching what it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BPEFLEET = (sys.executable, "-m", "bpefleet.producer")


def bpefleet(*arguments: str | Path | int, **options: object) -> subprocess.CompletedProcess[str]:
    command = [*BPEFLEET, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def start(*arguments: str | Path | int) -> subprocess.Popen[str]:
    command = [*BPEFLEET, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def descendants(pid: int) -> set[int]:
    """Every live process that `pid` started, and those that these did."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and not zombie(pid)}


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
