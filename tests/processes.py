"""Looking at processes from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable


def children(pid: int) -> list[int]:
    """The process ids of a process's children, in the order in which they began."""
    return _below(pid, recursive=False)


def descendants(pid: int) -> list[int]:
    """The process ids of a process's children, their children, and so on."""
    return _below(pid, recursive=True)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def is_stopped(pid: int) -> bool:
    """Whether a process is held still by SIGSTOP."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def are_gone(pids: Iterable[int]) -> bool:
    """Whether none of some processes is alive."""
    return not any(is_alive(pid) for pid in pids)


def command_lines() -> str:
    """What any user of the machine sees of every process's command line."""
    return "\n".join(
        " ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])
    )


def _below(pid: int, *, recursive: bool) -> list[int]:
    try:
        found = psutil.Process(pid).children(recursive=recursive)
    except psutil.NoSuchProcess:
        return []
    return [process.pid for process in sorted(found, key=lambda each: each.create_time())]
