"""Runs a command beside workers that are up: `python -m benchmarks.measuring.fleet N COMMAND…`.

The command, a `bpefleet train`, gets `--redis URL --no-report` at its end. Server and workers end
with it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire.keys import QUEUE

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: Final = 30.0


@contextmanager
def fleet(workers: int) -> Iterator[str]:
    """A server and workers that wait for work; its URL.

    Raises:
        TimeoutError: The workers do not start.
    """
    with EmbeddedServer() as server, connect(server.url) as connection:
        command = [sys.executable, "-m", "bpefleet.worker", "-q", "-n", str(workers)]
        pool = subprocess.Popen([*command, "--redis", server.url])
        try:
            deadline = time.monotonic() + _PATIENCE
            while connection.scard(f"rq:workers:{QUEUE}") < workers:
                if time.monotonic() > deadline:
                    raise TimeoutError("the workers do not start")
                time.sleep(0.02)
            yield server.url
        finally:
            pool.terminate()
            pool.wait()


if __name__ == "__main__":
    with fleet(int(sys.argv[1])) as url:
        command = [*sys.argv[2:], "--redis", url, "--no-report"]
        code = subprocess.run(command, check=False).returncode
    sys.exit(code)
