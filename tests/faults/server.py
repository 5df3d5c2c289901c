"""A Redis that the tests may kill: a real server on a port of its own, with or without a disk."""

from __future__ import annotations

import signal
import socket
import subprocess
from typing import TYPE_CHECKING, Final, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from bpefleet.producer.fleet.server import _find_server
from tests.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK: Final = "127.0.0.1"


class Server:
    """A context manager around a server that can die and come back on the same address.

    Args:
        folder: Where it keeps its file, if it does.
        keeps: Whether it keeps its memory across a death: an append-only file, written through.
        anywhere: Whether it listens on all addresses.
    """

    def __init__(
        self,
        folder: Path,
        *,
        keeps: bool = False,
        anywhere: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._command = (
            _find_server(), "--bind", "*" if anywhere else LOOPBACK, "--port", str(self.port),
            "--save", "", "--dir", str(folder), "--appendonly", "yes" if keeps else "no",
            "--appendfsync", "always", "--protected-mode", "no", "--loglevel", "warning",
        )  # fmt: skip

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it."""
        self.kill()

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"redis://{LOOPBACK}:{self.port}"

    def client(self) -> Redis:
        """A connection that is not patient at all."""
        return Redis(LOOPBACK, self.port, socket_timeout=2, retry=Retry(NoBackoff(), 0))

    def start(self) -> None:
        """Start it, with the memory that it kept, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually(self._answers)

    def kill(self) -> None:
        """Kill it; killing twice does no harm."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Have it fall silent, with all connections open."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Have it go on."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _answers(self) -> bool:
        with self.client() as client:
            try:
                return bool(client.ping())
            except RedisError:
                return False


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
