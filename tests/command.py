"""Running the `bpefleet` command as a process, and watching what it starts."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from tests import processes

if TYPE_CHECKING:
    from collections.abc import Iterable

BPEFLEET = (sys.executable, "-P", "-m", "bpefleet.producer")

ALONE: Final = "BPEFLEET_TESTS_FORK_NOTHING"
"""The variable by which each command of the tests imports for itself what it needs."""


def bpefleet(*arguments: str | Path | int, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; by a fork, unless it is given more than a place and variables."""
    command = list(map(str, arguments))
    if options.keys() <= {"cwd", "env", "timeout"} and not os.environ.get(ALONE):
        options.pop("timeout", None)  # that of the whole test holds
        if (done := _forks().run(command, **options)) is not None:
            return done
    return subprocess.run(
        [*BPEFLEET, *command], capture_output=True, text=True, check=False, **options
    )


@cache
def _forks() -> Forks:
    forks = Forks()
    atexit.register(forks.end)
    return forks


class Forks:
    """Commands forked by a process that has imported what they need: see tests/forked.py."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, command: list[str], cwd: str | Path = ".", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str] | None:
        """Run one; None if another runs meanwhile."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            with NamedTemporaryFile() as out, NamedTemporaryFile() as err:
                code = self._run(
                    out=out.name,
                    err=err.name,
                    arguments=command,
                    folder=str(Path(cwd).absolute()),
                    environment={**(os.environ if env is None else env)},
                )
                # Read as subprocess reads them.
                stdout, stderr = (Path(file.name).read_text() for file in (out, err))
            return subprocess.CompletedProcess(command, code, stdout, stderr)
        finally:
            self._lock.release()

    def _run(self, **request: object) -> int:
        if self._process is None:
            program = [sys.executable, "-P", str(Path(__file__).with_name("forked.py"))]
            self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            return int(process.stdout.readline())
        except BaseException:  # a test that takes too long is interrupted
            self._process = None
            below = processes.descendants(process.pid)
            process.kill()
            process.communicate()
            for pid in alive(below):
                os.kill(pid, signal.SIGKILL)
            raise

    def end(self) -> None:
        """End the process that forks."""
        if self._process is not None:
            self._process.communicate()


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
