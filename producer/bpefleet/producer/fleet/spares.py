"""Processes that a command forks at its beginning, to become programs of its run later.

A new Python would import again what the command has imported, which takes most of the time of a
small run. They are forked before the command has threads, has read a key or has connected to
anything, so that they hold no more secrets than a new Python does: its environment. Whatever they
become has its own session, descriptors, signals, command line and environment as if it had been
started; where the system does not let it show these, it starts a new Python in its place.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from subprocess import PIPE
from typing import TYPE_CHECKING, Final, NoReturn

from bpefleet.producer.fleet.forked import Forked
from bpefleet.shared.process.title import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_IMPORTED: Final = (
    "bpefleet.producer.counting.through_redis.count",
    "bpefleet.producer.run.pipeline",
    "bpefleet.producer.training.trainer",
)
"""What takes longest to import of all that the command and its programs need."""
_SENT: Final = b"\n"
_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_SPARES: Final[dict[str, _Spare]] = {}


def command_of(module: str) -> tuple[str, ...]:
    """How a program of bpefleet is started, without its options."""
    # -P: no module in the current directory may replace an installed one.
    return (sys.executable, "-P", "-m", module)


def prepare(modules: Iterable[str]) -> None:
    """Fork a process for each of these programs, if it can be done without harm.

    For commands, which know that nothing else goes on in this process.
    """
    if sys.platform != "linux" or None in {sys.stdin, sys.stdout, sys.stderr}:
        return
    for name in _IMPORTED:
        import_module(name)
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        return  # a lock that a thread holds would be held for ever in the fork
    gc.freeze()  # garbage collection in the forks would copy shared pages
    for module in modules:
        with suppress(OSError):  # a new Python may fare better
            _SPARES[module] = _Spare(module)


def take(module: str) -> _Spare | None:
    """The process that was forked for a program, if there is one."""
    return _SPARES.pop(module, None)


class _Spare:
    """A process that waits to be told what to become, and ends if its parent does."""

    def __init__(self, module: str) -> None:
        here, there = socket.socketpair()
        with here, there:
            sys.stdout.flush()
            sys.stderr.flush()
            held = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
            try:
                if not (pid := os.fork()):
                    _wait(there.detach(), module, held)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
            self._pid = pid
            self._channel = here.dup()

    def become(
        self, options: Iterable[str], environment: Mapping[str, str], stdin: int, stdout: int
    ) -> Forked:
        """Let it become the program, as `subprocess.Popen` starts one.

        Args:
            options: Of the program.
            environment: All of it.
            stdin: As for `Popen`: DEVNULL or PIPE.
            stdout: Likewise.

        Raises:
            OSError: It is gone.
        """
        told = json.dumps([[*options], {**environment}]).encode()
        read, to_it = os.pipe() if stdin == PIPE else (os.open(os.devnull, os.O_RDONLY), None)
        from_it, write = os.pipe() if stdout == PIPE else (None, os.open(os.devnull, os.O_WRONLY))
        child = Forked(
            self._pid,
            None if to_it is None else os.fdopen(to_it, "wb"),
            None if from_it is None else os.fdopen(from_it, "rb"),
        )
        try:
            with self._channel as channel:
                socket.send_fds(channel, [_SENT], [read, write])
                channel.sendall(told)
        finally:
            os.close(read)
            os.close(write)
        return child


def _wait(channel: int, module: str, held: set[int]) -> NoReturn:
    """In the fork: wait for what to become, become it, and end; never returns."""
    code = 1
    try:
        _leave(held)
        os.dup2(channel, 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        with suppress(OSError):
            show(command_of(module), os.environ.items())
        code = _become(module)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:  # noqa: BLE001  printed as Python prints it
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _leave(held: set[int]) -> None:
    """Leave the command's session and its ways with signals, of which only `held` are held then."""
    # Ctrl-C reaches the command alone, which decides how the others end. Ignored, it is not held.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _become(module: str) -> int:
    """Wait for what to become, and become it. Returns the exit code."""
    channel = socket.socket(fileno=3)
    sent, files, _, _ = socket.recv_fds(channel, len(_SENT), 2)
    if not sent:
        return 0  # the command has ended, or needs none
    options, environment = json.loads(channel.makefile("rb").read())
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(channel.detach(), os.sysconf("SC_OPEN_MAX"))
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    words = [*command_of(module), *options]
    try:
        show(words, environment.items())
    except OSError:
        os.execve(words[0], words, environment)  # noqa: S606  no shell is wanted
    sys.argv[1:] = options
    if not sys.flags.safe_path:
        del sys.path[0]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0
