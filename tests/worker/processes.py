"""Looking at processes from outside."""

from __future__ import annotations

import os
import subprocess


def children(pid: int) -> list[int]:
    """The process ids of a process's children."""
    return [child for child, parent, _state in _table() if parent == pid]


def descendants(pid: int) -> list[int]:
    """The process ids of a process's children, their children, and so on."""
    found = children(pid)
    return found + [below for child in found for below in descendants(child)]


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    return any(each == pid and not state.startswith("Z") for each, _parent, state in _table())


def are_gone(pids: list[int]) -> bool:
    """Whether none of some processes is alive."""
    return not any(is_alive(pid) for pid in pids)


def _table() -> list[tuple[int, int, str]]:
    command = ["ps", "-A", "-o", "pid=,ppid=,state="]
    listing = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return [(int(pid), int(parent), state) for pid, parent, state in rows]
