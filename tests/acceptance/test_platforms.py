"""Systems other than the tests' own: what one lacks is taken away."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_WINDOWS = """
import os, sys, click, subprocess, pathlib
os.name, sys.platform = "nt", "win32"
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
"""
_MACOS = """
import os
del os.sched_getaffinity, os.sched_setaffinity
os.process_cpu_count = os.cpu_count  # what Python 3.13 makes of it there
"""


def _python(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["train", "worker", "dashboard", "status"])
def test_a_system_without_posix_is_refused_in_one_line(command: str) -> None:
    result = _python(
        f"{_WINDOWS}\nfrom bpefleet.producer.cli.entry import main; main()", command, "x"
    )
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "error: bpefleet runs on Linux and macOS, not on win32",
        "hint: on Windows use WSL, the Windows Subsystem for Linux",
    ]


def test_python_is_told_the_same() -> None:
    result = _python(f"{_WINDOWS}\nfrom bpefleet.producer import train")
    assert result.stderr.splitlines()[-2:] == [
        "bpefleet.shared.errors.UsageError: bpefleet runs on Linux and macOS, not on win32",
        "hint: on Windows use WSL, the Windows Subsystem for Linux",
    ]


def test_a_system_that_tells_no_affinity_trains(corpus: Path, tmp_path: Path) -> None:
    """macOS; the workers of this run are processes of the system that the tests run on."""
    program = f"{_MACOS}\nfrom bpefleet.producer.cli.entry import main; main()"
    result = _python(program, "train", corpus, "--vocab-size", "300", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
