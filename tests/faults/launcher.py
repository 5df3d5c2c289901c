"""The command as processes that die, and what is seen of them from outside."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bpefleet.producer.store.directory import COUNTS
from bpefleet.producer.store.history import read_attempts
from tests.command import BPEFLEET, alive
from tests.eventually import eventually
from tests.processes import children, descendants, is_stopped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.store.history import Attempt

POOL = b"bpefleet.worker"
TRAINER = b"bpefleet.producer.training.process"


class Command:
    """A running `bpefleet` command. Its stderr goes to a file, lest a full pipe stops it."""

    def __init__(
        self,
        arguments: tuple[object, ...],
        log: Path,
        prefix: tuple[str, ...] = (),
        program: str = "",
    ) -> None:
        self._log = log
        self._is_pool = arguments[0] == "worker"
        command = (sys.executable, "-P", "-c", program) if program else BPEFLEET
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                (*prefix, *command, *map(str, arguments)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def said(self) -> str:
        """Its stderr so far."""
        return self._log.read_text(errors="replace")

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def wait(self, deadline: float = 240) -> int:
        """Wait for its end; its exit code."""
        return self._process.wait(deadline)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def limit(self, what: int, most: int) -> None:
        """Limit a resource of it, and of what it starts from now on."""
        resource.prlimit(self.pid, what, (most, most))

    def kill(self) -> None:
        """Kill it, and wait until what it started is gone as well."""
        below = set(descendants(self.pid))
        self._process.kill()
        self._process.wait()
        eventually(lambda: not alive(below))

    def succeeds(self, deadline: float = 240) -> None:
        """Wait for its end, which must be a good one."""
        assert self.wait(deadline) == 0, self.said

    @property
    def pool(self) -> int | None:
        """The process id of its local worker pool."""
        return next((pid for pid in children(self.pid) if POOL in command_line(pid)), None)

    @property
    def trainer(self) -> int | None:
        """The process id of its trainer."""
        return next((pid for pid in children(self.pid) if TRAINER in command_line(pid)), None)

    @property
    def server(self) -> int | None:
        """The process id of the server that it brought along."""
        return next((pid for pid in descendants(self.pid) if _is_server(pid)), None)

    @property
    def workers(self) -> list[int]:
        """The process ids of its workers, be it a run or a pool."""
        pool = self.pid if self._is_pool else self.pool
        return children(pool) if pool else []

    @property
    def work_horses(self) -> list[int]:
        """The process ids of its work-horses, which count a chunk just now."""
        return [horse for worker in self.workers for horse in children(worker)]

    @contextmanager
    def held(self) -> Iterator[list[int]]:
        """Within the block every worker's work-horse is held still, so that no chunk ends."""
        horses = eventually(self._stopped_horses)
        try:
            yield horses
        finally:
            for horse in horses:
                with suppress(ProcessLookupError):
                    os.kill(horse, signal.SIGCONT)

    def _stopped_horses(self) -> list[int]:
        horses = self.work_horses
        for horse in horses:
            with suppress(ProcessLookupError):
                os.kill(horse, signal.SIGSTOP)
        # One that had ended by then is followed by another.
        return horses if len(horses) == len(self.workers) and all(map(is_stopped, horses)) else []


class Launcher:
    """Starts commands, and kills at last what still runs of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._numbers = count()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(
        self, *arguments: object, prefix: tuple[str, ...] = (), program: str = ""
    ) -> Command:
        """Start a command.

        Args:
            arguments: Of the command.
            prefix: What to run it with.
            program: Python that becomes the command after it changed something.
        """
        log = self._folder / f"{next(self._numbers)}-{arguments[0]}.log"
        command = Command(arguments, log, prefix, program)
        self._stack.callback(command.kill)
        return command

    def workers(
        self, url: str, number: int = 2, *options: object, prefix: tuple[str, ...] = ()
    ) -> Command:
        """Start a worker pool."""
        return self("worker", "--redis", url, "-n", number, "-v", *options, prefix=prefix)


def command_line(pid: int) -> bytes:
    """A process's command line; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_server(pid: int) -> bool:
    # Redis writes a title over its command line, with spaces in it.
    return command_line(pid).partition(b"\0")[0].partition(b" ")[0].endswith(b"-server")


def kill(pid: int) -> bool:
    """Kill a process that may be gone already; whether it was there. 0 is none."""
    try:
        if not pid:
            return False
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def counted(out: Path) -> int:
    """Attempts at a run's chunks that counted one, by its history; 0 before there is any."""
    return sum(attempt.outcome == "counted" for attempt in history(out))


def history(out: Path) -> list[Attempt]:
    """All attempts at a run's chunks."""
    return [attempt for attempts in read_attempts(out).values() for attempt in attempts]


def failed_kinds(out: Path) -> set[str]:
    """What the attempts that failed died of."""
    return {attempt.kind for attempt in history(out) if attempt.outcome == "failed"}


def folded_files(out: Path) -> list[Path]:
    """The files of a run's ledger."""
    return sorted((out / COUNTS).glob("*.counts"))
