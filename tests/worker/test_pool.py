"""A pool whose workers die, and which is stopped, at the worst instant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.eventually import eventually
from tests.worker.processes import are_gone, children, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STOPS_ITSELF = """
import logging, os, signal, sys
from bpefleet.shared.signing import Signer
from bpefleet.worker.pool import WorkerPool

class Stops(logging.Handler):
    def emit(self, record):
        if "starting another" in record.getMessage():
            os.kill(os.getpid(), signal.SIGTERM)

logging.getLogger("bpefleet.worker").addHandler(Stops())
sys.exit(WorkerPool(sys.argv[1], 1, signer=Signer()).run())
"""
"""A pool that gets SIGTERM when it has decided to start another worker and has not yet."""


@contextmanager
def _pool(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as stderr,
        subprocess.Popen([sys.executable, "-P", *command], stderr=stderr) as process,
    ):
        try:
            eventually(lambda: children(process.pid))
            yield process
        finally:
            below = children(process.pid)
            process.kill()
            eventually(lambda: are_gone(below))


def test_a_stop_reaches_a_worker_that_is_about_to_be_started(
    redis_url: str, tmp_path: Path
) -> None:
    with _pool(tmp_path / "log", "-c", _STOPS_ITSELF, redis_url) as pool:
        os.kill(children(pool.pid)[0], signal.SIGKILL)
        assert pool.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_together_with_a_worker_s_death(
    redis_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    """Both wait for the pool when it is let go on: one worker is reaped as the stop comes."""
    log = tmp_path / "log"
    with _pool(log, "-m", "bpefleet.worker", "-n", "2", "--redis", redis_url) as pool:
        eventually(lambda: len(children(pool.pid)) == 2)
        first, second = children(pool.pid)
        pool.send_signal(signal.SIGSTOP)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: not is_alive(first))
        pool.send_signal(number)
        pool.send_signal(signal.SIGCONT)
        assert pool.wait(20) == 0, log.read_text()
        assert not is_alive(second)
    assert "Traceback" not in log.read_text()
