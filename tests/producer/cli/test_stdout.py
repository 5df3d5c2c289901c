"""What is printed where nothing can be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bpefleet.shared.errors import ExitCode


def test_a_full_disk_is_an_error_without_a_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-P", "-m", "bpefleet.producer", "train", "--help"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == ExitCode.OUTPUT
    assert ended.stderr == (
        "error: standard output cannot be written: No space left on device\n"
        "hint: make room, or print elsewhere\n"
    )
