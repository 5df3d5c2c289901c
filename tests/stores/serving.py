"""Servers on loopback: moto's S3, a relay before it that fails, and a web server."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOOPBACK: Final = "127.0.0.1"
_SAID: Final = b"<Error><Code>%s</Code><Message>Please reduce.</Message></Error>"
_MOTO: Final = "import sys; from moto.server import main; main(['-H', sys.argv[1], '-p', '0'])"
_HOP: Final = ("connection", "transfer-encoding", "server", "date")


@contextmanager
def s3(log: Path) -> Iterator[str]:
    """An S3 server; yields its URL."""
    with log.open("wb") as told:
        server = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _MOTO, LOOPBACK],
            stdout=subprocess.DEVNULL,
            stderr=told,
        )
    try:
        eventually(lambda: "Running on http" in log.read_text() or server.poll() is not None)
        said = log.read_text()
        assert server.poll() is None, said
        yield said[said.index("http://") :].split()[0]
    finally:
        server.kill()
        server.wait()


def bucket(endpoint: str, name: str) -> None:
    """Make a bucket."""
    asked = urllib.request.Request(f"{endpoint}/{name}", method="PUT")  # noqa: S310  http
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked).close()


class _Handler(BaseHTTPRequestHandler):
    """Relays a request, with the fault that is its turn."""

    protocol_version = "HTTP/1.1"
    server: Relay

    def log_message(self, *_: Any) -> None:
        """Nothing is said on stderr."""

    def _relay(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        fault = self.server.turn(self.command, self.path)
        if fault == "stall":
            self.server.ended.wait()
            self.close_connection = True
            return
        if fault[:1].isdigit():
            status, _, code = fault.partition(" ")
            self._answer(int(status), {}, _SAID % (code or "SlowDown").encode())
            return
        there = http.client.HTTPConnection(self.server.target, timeout=60)
        try:
            there.request(self.command, self.path, body, dict(self.headers))
            answer = there.getresponse()
            data = answer.read()
        finally:
            there.close()
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}
        self._answer(answer.status, headers, data, cut=fault == "cut")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _relay  # noqa: N815  the library's names

    def _answer(
        self, status: int, headers: dict[str, str], data: bytes, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = cut


class Relay(ThreadingHTTPServer):
    """A relay to a server.

    Args:
        target: The server's URL.
        turn: Says what goes wrong with a request, by its method and path: `500`, `403`, `403 Code`,
            `cut` (its answer), `stall` (no answer), or nothing.
    """

    daemon_threads = True

    def __init__(self, target: str, turn: Callable[[str, str], str]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.target = target.removeprefix("http://")
        self.turn = turn
        self.ended = threading.Event()

    def server_close(self) -> None:
        """Let go of those that wait for an answer, too."""
        self.ended.set()
        super().server_close()


class Ranges(SimpleHTTPRequestHandler):
    """Serves the files of a folder, and parts of them."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing is said on stderr."""

    def do_GET(self) -> None:
        """A part of a file, or all of it."""
        path = Path(self.translate_path(self.path))
        asked = self.headers.get("Range")
        if asked is None or "whole" in path.name or not path.is_file():
            super().do_GET()
            return
        data = path.read_bytes()
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1 if last else len(data)]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        place = f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"
        self.send_header("Content-Range", place)
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        self.end_headers()
        self.wfile.write(part)


def web(folder: Path) -> ThreadingHTTPServer:
    """A web server that knows ranges; of files with `whole` in their names it does not."""
    server = ThreadingHTTPServer((LOOPBACK, 0), partial(Ranges, directory=str(folder)))
    server.daemon_threads = True
    return server


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[str]:
    """Runs a server in a thread; yields its URL."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
