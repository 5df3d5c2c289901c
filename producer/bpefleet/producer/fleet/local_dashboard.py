"""A dashboard on this machine for the duration of a run, in its own process."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.fleet.child import start_child
from bpefleet.shared.errors import BpefleetError, ExitCode, QueueError, UsageError
from bpefleet.shared.process.logs import HUMAN, JSON, structured

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from bpefleet.producer.fleet.child import Child

PROGRAM: Final = "bpefleet.dashboard"
_STOP_DEADLINE: Final = 10.0
"""Seconds that it has to end: open pages are told of the run's end first, which takes about one."""

_SHORT_DEADLINE: Final = 1.5
"""Seconds that it has to end after an error, or when somebody stopped the run."""


class LocalDashboard:
    """A context manager around `bpefleet dashboard`, on loopback and a port that is free.

    It ends with the context, and also when the thread that entered it ends, even by a crash.

    Args:
        url: The Redis whose runs to show.
        key_file: The file with the fleet's key, if there is one.
    """

    def __init__(self, url: str, key_file: Path | None) -> None:
        self._url = url
        self._key_file = key_file
        self._process: Child | None = None

    def __enter__(self) -> Self:
        """Start it, without waiting until it serves."""
        options = ["--beside", JSON if structured() else HUMAN]
        self._process = start_child(
            PROGRAM, options, self._url, self._key_file, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdout is not None:
            process.stdout.close()
        process.terminate()
        try:
            process.wait(_STOP_DEADLINE if kind is None else _SHORT_DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def wait(self) -> None:
        """Wait for an interrupt, or until it ends by itself."""
        if self._process is not None:
            with suppress(KeyboardInterrupt):
                self._process.wait()

    def address(self) -> str:
        """Wait until it serves. Returns its address, with the token that allows requests.

        Raises:
            UsageError: It cannot serve, for instance since the extra is missing; stderr says why.
            QueueError: It cannot reach Redis.
        """
        if self._process is None or self._process.stdout is None:  # pragma: no cover  Popen made it
            raise AssertionError
        if line := self._process.stdout.readline():
            return line.decode().strip()
        code = self._process.wait(_STOP_DEADLINE)
        kind: type[BpefleetError] = QueueError if code == ExitCode.QUEUE else UsageError
        raise kind(
            f"the dashboard does not start: exit code {code}", hint="the lines above say why"
        )
