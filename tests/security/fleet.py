"""Runs and workers as an operator starts them, with everything that they say kept."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire import keys
from tests.command import BPEFLEET
from tests.eventually import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VOCAB = ("--vocab-size", "400", "--pattern", "gpt2")


@dataclass
class Workers:
    """A pool of workers.

    Attributes:
        process: Its process.
        log: The file that has its stderr.
    """

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="surrogateescape")

    def hear(self, *words: str, deadline: float = PATIENCE) -> None:
        """Wait until the workers have said all of `words`."""

        def heard() -> bool:
            return all(word in self.said for word in words)

        try:
            eventually(heard, deadline)
        except AssertionError:
            raise AssertionError(f"{words} not in: {self.said}") from None


@contextmanager
def serving(
    url: str, log: Path, *options: str | Path, count: int = 1, env: Mapping[str, str] | None = None
) -> Iterator[Workers]:
    """Workers that serve `url` within the block."""
    command = [sys.executable, "-P", "-m", "bpefleet.worker", "-n", str(count), *map(str, options)]
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            env={**os.environ, "BPEFLEET_REDIS": url, **(env or {})},
            stderr=stderr,
            stdout=stderr,
            start_new_session=True,
        )
    try:
        yield Workers(process, log)
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()  # its workers die with it
            process.wait()


@dataclass
class Run:
    """A run that goes.

    Attributes:
        process: The producer.
        out: Its directory.
        url: The Redis that it uses.
    """

    process: subprocess.Popen[str]
    out: Path
    url: str

    @property
    def plan(self) -> Plan:
        return Plan.from_bytes((self.out / PLAN).read_bytes())

    def finish(self, deadline: float = 60) -> str:
        """Wait for its end in success; what it said."""
        _, stderr = self.process.communicate(timeout=deadline)
        assert self.process.returncode == 0, stderr
        return stderr


@contextmanager
def training(
    url: str, out: Path, corpus: Path, *options: str | Path, chunk_size: str = "30kB"
) -> Iterator[Run]:
    """A run on `url` whose first jobs are queued; nobody serves them yet."""
    command = [*BPEFLEET, "train", str(corpus), "-o", str(out), *VOCAB, "--chunk-size", chunk_size]
    process = subprocess.Popen(
        [*command, *map(str, options)],
        env={**os.environ, "BPEFLEET_REDIS": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        start_new_session=True,
    )
    try:
        with connect(url) as connection:
            eventually(lambda: connection.llen(f"rq:queue:{keys.QUEUE}") or process.poll())
        yield Run(process, out, url)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
