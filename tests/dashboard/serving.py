"""Dashboards, workers and runs as processes of their own, for tests and screenshots."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.command import start
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

SLOW = ("--pattern", r"\w{1,2}|\W", "--chunk-size", "200kB", "--vocab-size", 600)
"""A pattern that takes its time, and chunks that are over soon."""

TREACHEROUS = """<img src=x onerror=alert(1)><script>alert(2) "onmouseover="x" & 'y'.txt"""
"""The name of a file that would act in a careless page."""


@dataclass(frozen=True)
class Dashboard:
    """A dashboard that serves.

    Attributes:
        url: Its address, without a slash at the end.
        token: Its token.
        process: Its process.
        log: What it says on stderr.
    """

    url: str
    token: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def bearer(self) -> dict[str, str]:
        """The header that carries the token."""
        return {"Authorization": f"Bearer {self.token}"}


@contextmanager
def dashboard(redis_url: str, log: Path, *options: str | Path) -> Iterator[Dashboard]:
    """Serve a dashboard on a free port."""
    command = [sys.executable, "-m", "bpefleet.producer", "dashboard", "--redis", redis_url,
               "--port", "0", *map(str, options)]  # fmt: skip
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        try:
            found = eventually(
                lambda: re.search(r"open (http://\S+)/\?token=(\S*)(.*)", log.read_text())
            )
            assert found is not None
            token = found[2]
            if "--token-file" in options:  # whose content is not printed
                assert not token
                token = Path(options[options.index("--token-file") + 1]).read_text().strip()
                assert found[3] == f" and what is in {options[-1]}"
            yield Dashboard(found[1], token, process, log)
        finally:
            process.terminate()
            assert process.wait(120) == 0, log.read_text()


@contextmanager
def workers(redis_url: str, count: int, *options: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Serve a Redis with workers of a pool."""
    process = start("worker", "--redis", redis_url, "-n", count, "--quiet", *options)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=120)


def worker_pids(connection: Redis) -> list[int]:
    """The processes of the workers that serve the queue."""
    names: Any = connection.smembers("rq:workers:bpefleet")
    return sorted(int(connection.hget(name.decode(), "pid") or 0) for name in names)


def mend(path: Path) -> None:
    """Make it UTF-8, and else the file that the run was planned on."""
    before = path.stat()
    path.write_bytes(b"cafe ole")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
