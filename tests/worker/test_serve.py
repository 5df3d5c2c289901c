"""The command `bpefleet worker`: its signals, and a Redis that is away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from bpefleet.shared.wire.messages import Counted
from bpefleet.worker.worker import FleetWorker
from tests.eventually import eventually
from tests.processes import are_gone, descendants
from tests.worker.queueing import events, make_spec, put, status, stuck_spec, whole, work_horse

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


def test_sigterm_lets_the_running_chunk_end(
    pool: subprocess.Popen[bytes], connection: Redis, tmp_path: Path
) -> None:
    path = tmp_path / "slow.txt"
    path.write_bytes(b"ab " * 300_000)
    slow = make_spec(whole(path), pattern=r"\w|\W")
    put(connection, slow, chunk=0)
    horse = work_horse(pool.pid)
    os.kill(horse, signal.SIGSTOP)
    next_job = put(connection, slow, chunk=1)
    pool.send_signal(signal.SIGTERM)
    os.kill(horse, signal.SIGCONT)
    assert pool.wait(120) == 0
    assert [type(body) for _chunk, body in events(connection)] == [Counted]
    assert status(connection, next_job) == "queued"
    assert FleetWorker.count(connection=connection) == 0


def test_a_second_signal_stops_at_once(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    put(connection, stuck_spec(stuck))
    work_horse(pool.pid)
    below = descendants(pool.pid)
    pool.send_signal(signal.SIGINT)
    pool.send_signal(signal.SIGTERM)
    assert pool.wait(120) == 130
    eventually(lambda: are_gone(below))


def test_a_redis_that_cannot_be_reached_ends_the_command() -> None:
    command = [sys.executable, "-P", "-m", "bpefleet.worker", "--redis", "redis://:pw@127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("error: cannot reach Redis at redis://:***@127.0.0.1:1: ")
    assert done.stdout == ""
