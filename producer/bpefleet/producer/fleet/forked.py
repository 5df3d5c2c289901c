"""A program of bpefleet that runs in a fork of this process, instead of a new Python."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO


class Forked:
    """What is used of a `subprocess.Popen`, for a child that was forked.

    Attributes:
        pid: Its process id.
        stdin: What it reads, if that is a pipe.
        stdout: What it writes, if that is one.
        returncode: As `Popen` has it; None while it runs.
    """

    def __init__(self, pid: int, stdin: BinaryIO | None, stdout: BinaryIO | None) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends.

        Raises:
            subprocess.TimeoutExpired: It runs after so many seconds.
        """
        if timeout is not None and self.poll() is None:
            ended = os.pidfd_open(self.pid)
            try:
                poll = select.poll()
                poll.register(ended, select.POLLIN)
                if not poll.poll(timeout * 1000):
                    raise subprocess.TimeoutExpired(str(self.pid), timeout)
            finally:
                os.close(ended)
        while (code := self._reap(0)) is None:
            pass
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _reap(self, how: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, how)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode
