"""What a pool of workers says: what it serves, when it is busy, what it did."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.eventually import eventually
from tests.processes import children
from tests.worker.queueing import RUN, STUCK, make_spec, next_event, put, stuck_spec, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis


class Pool:
    """`bpefleet worker` as a process, with its stderr in a file."""

    def __init__(self, url: str, log: Path, *options: str) -> None:
        self._log = log
        command = [sys.executable, "-P", "-m", "bpefleet.worker", "--redis", url, *options]
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stderr=stderr)

    @property
    def said(self) -> str:
        """Its stderr so far."""
        return self._log.read_text()

    def stop(self) -> None:
        """Stop it in peace."""
        self.process.terminate()
        assert self.process.wait(120) == 0


@contextmanager
def _pool(url: str, log: Path, *options: str) -> Iterator[Pool]:
    pool = Pool(url, log, *options)
    try:
        yield pool
    finally:
        pool.process.kill()
        pool.process.wait()


def test_a_pool_says_what_it_serves_what_it_does_and_what_it_did(
    connection: Redis, redis_url: str, tmp_path: Path
) -> None:
    text, bad = tmp_path / "a.txt", tmp_path / "bad.txt"
    text.write_bytes(b"low lower lowest " * 1000)
    bad.write_bytes(b"\xff")
    with _pool(redis_url, tmp_path / "log", "-n", "2", "--corpus-root", str(tmp_path)) as pool:
        eventually(lambda: "serving: 2 workers" in pool.said)
        assert redis_url in pool.said
        assert f"sources below {tmp_path}" in pool.said
        assert "busy" not in pool.said
        put(connection, make_spec(whole(text)), 1)
        next_event(connection)
        eventually(lambda: f"busy with run {RUN}" in pool.said)
        put(connection, make_spec(whole(bad)), 2)
        eventually(lambda: "idle, after 1 chunk counted, 17.0 kB, 1 failed" in pool.said)
        pool.stop()
        assert re.search(r"ended after 0:\d\d:\d\d: 1 chunk counted, 17.0 kB, 1 failed", pool.said)
        assert not any(line.startswith("{") for line in pool.said.splitlines())


@pytest.mark.parametrize("options", [["--quiet"], ["--log-format", "json"]])
def test_a_quiet_pool_says_nothing_and_one_of_records_says_it_in_records(
    connection: Redis, redis_url: str, tmp_path: Path, options: list[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"low lower lowest " * 1000)
    with _pool(redis_url, tmp_path / "log", "-n", "1", *options) as pool:
        put(connection, make_spec(whole(text)), 1)
        next_event(connection)
        pool.stop()
        told: list[dict[str, Any]] = [json.loads(line) for line in pool.said.splitlines()]
    if options == ["--quiet"]:
        assert told == []
        return
    assert told[0]["message"].startswith("serving: 1 worker for")
    assert told[-1]["message"].startswith("ended after 0:0")
    assert {record["level"] for record in told} == {"notice"}


def test_a_worker_that_dies_leaves_its_desk_to_the_next(
    connection: Redis, redis_url: str, tmp_path: Path
) -> None:
    text, stuck = tmp_path / "a.txt", tmp_path / "stuck.txt"
    text.write_bytes(b"low lower lowest " * 1000)
    stuck.write_text(STUCK)
    with _pool(redis_url, tmp_path / "log", "-n", "1") as pool:
        (worker,) = eventually(lambda: children(pool.process.pid))
        put(connection, stuck_spec(stuck), 1)
        eventually(lambda: children(worker))
        os.kill(worker, signal.SIGKILL)
        put(connection, make_spec(whole(text)), 2)
        next_event(connection)
        eventually(lambda: "idle, after 1 chunk counted" in pool.said)
        pool.stop()


@pytest.mark.parametrize("form", ["human", "json"])
def test_nothing_it_says_on_a_terminal_has_colour_codes(
    connection: Redis, redis_url: str, tmp_path: Path, form: str
) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"low lower lowest " * 1000)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-P", "-m", "bpefleet.worker", "--redis", redis_url, "-n", "1", "-v"]
    with subprocess.Popen([*command, "--log-format", form], stdout=theirs, stderr=theirs) as pool:
        os.close(theirs)
        put(connection, make_spec(whole(text)), 1)
        next_event(connection)
        pool.terminate()
        said = b""
        with open(ours, "rb", buffering=0, closefd=True) as screen:  # noqa: PTH123  a descriptor
            try:
                while more := screen.read(65536):
                    said += more
            except OSError:  # the other side is closed
                pass
    assert b"Listening on" in said  # RQ colours this one
    assert b"Successfully completed" in said
    assert b"x1b" not in said
    assert b"u001b" not in said
    assert b"\x1b" not in said
