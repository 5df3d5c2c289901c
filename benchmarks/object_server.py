"""An object store of a folder, with as much of S3 as reading takes.

It serves in a thread of the process that measures, so that what it takes is not the reader's. Any
bucket is the folder; the system sends the bytes.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Objects(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, *request: Any) -> None:
        self._folder = folder
        super().__init__(*request)

    def log_message(self, *_: Any) -> None:
        """Nothing is said of each request."""

    def do_HEAD(self) -> None:
        """What an object is."""
        self._answer(whole=False)

    def do_GET(self) -> None:
        """An object, or a part of it."""
        self._answer(whole=True)

    def _answer(self, *, whole: bool) -> None:
        name = unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]
        path = self._folder / name
        if not name or not path.is_file():
            self.send_error(404)
            return
        facts = path.stat()
        first, last = 0, facts.st_size - 1
        if asked := self.headers.get("Range"):
            begin, _, end = asked.removeprefix("bytes=").partition("-")
            first, last = int(begin), min(int(end), last) if end else last
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(last + 1 - first))
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{facts.st_size}")
        self.send_header("ETag", f'"{facts.st_mtime_ns:x}"')
        self.send_header("Last-Modified", self.date_time_string(int(facts.st_mtime)))
        self.end_headers()
        if whole:
            # Who has what it wants ends the connection.
            with path.open("rb") as file, suppress(ConnectionError):
                self.connection.sendfile(file, first, last + 1 - first)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves the folder; the block has the server's URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Objects, folder))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
