"""Running the `bpefleet` command as a process, and watching what it starts."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests import processes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BPEFLEET = (sys.executable, "-P", "-m", "bpefleet.producer")


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
    return alive(processes.descendants(pid))


def alive(pids: Iterable[int]) -> set[int]:
    """Those that exist and are no zombies."""
    return {pid for pid in pids if processes.is_alive(pid)}
