"""A TCP relay that can fall silent, with its connections open, and that can drop them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Final, Self

from tests.faults.server import LOOPBACK

_CHUNK: Final = 1 << 16


class Proxy:
    """A context manager around a relay to a port of this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._held = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((LOOPBACK, 0))

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def url(self) -> str:
        """Where to connect."""
        return f"redis://{LOOPBACK}:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Let nothing through."""
        self._held.clear()
        self._open.clear()

    @property
    def holds(self) -> bool:
        """Whether something came since it was cut, and is held back."""
        return self._held.is_set()

    def mend(self) -> None:
        """Let everything through, what was held back first."""
        self._open.set()

    def drop(self) -> None:
        """End the connections that there are."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection((LOOPBACK, self._target))
                self._sockets += near, far
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._relay, args=(source, sink), daemon=True).start()

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                if not self._open.is_set():
                    self._held.set()
                self._open.wait()
                sink.sendall(data)
            self._open.wait()
            sink.shutdown(socket.SHUT_WR)
