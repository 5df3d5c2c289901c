"""Looks at a run as people and Prometheus do: `python -m benchmarks.measuring.onlooker PAGE DIR`.

It follows the run's page, scrapes `/metrics` each second, and shows `status --watch`. All is
imported before it says `ready` on stdout, so that what a measured run feels is being watched, and
not another program's start. At the run's end it says in a line of JSON how much it saw.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bpefleet.producer.cli.printing.status import show
from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.tokenizer.files.names import MANIFEST

_PAUSE: Final = 0.02
_SCRAPE_EVERY: Final = 1.0


class Onlooker:
    """Follows one run from its plan to its end.

    Attributes:
        events: What the page was sent.
        scrapes: Answers of `/metrics`.
    """

    def __init__(self, page: str, out: Path) -> None:
        self.events = self.scrapes = 0
        self._where = urlsplit(page).netloc
        self._out = out
        self._over = threading.Event()

    def look(self) -> None:
        """Look on until the run is done."""
        while not (self._out / PLAN).exists():
            time.sleep(_PAUSE)
        run = json.loads((self._out / PLAN).read_bytes())["run"]
        threads = [
            threading.Thread(target=self._follow, args=(f"/runs/{run}/events",), daemon=True),
            threading.Thread(target=self._scrape, daemon=True),
        ]
        for thread in threads:
            thread.start()
        while not (self._out / MANIFEST).exists():
            with redirect_stdout(StringIO()):
                show(str(self._out), None, as_json=False, watch=True)
            time.sleep(_PAUSE)  # the run's process is about to begin or to end
        self._over.set()

    def _follow(self, path: str) -> None:
        with suppress(OSError, http.client.HTTPException):  # the dashboard ends
            for line in self._get(path):
                self.events += line.startswith(b"data:")

    def _scrape(self) -> None:
        with suppress(OSError, http.client.HTTPException):
            while True:
                self._get("/metrics").read()
                self.scrapes += 1
                if self._over.wait(_SCRAPE_EVERY):
                    return

    def _get(self, path: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._where)
        connection.request("GET", path)
        return connection.getresponse()


if __name__ == "__main__":
    onlooker = Onlooker(sys.argv[1], Path(sys.argv[2]))
    print("ready", flush=True)
    onlooker.look()
    print(json.dumps({"events": onlooker.events, "scrapes": onlooker.scrapes}), flush=True)
