"""A pool whose workers die, and which is stopped, at the worst instant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.eventually import eventually
from tests.processes import are_gone, children, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STOPS_ITSELF = """
import logging, os, signal, sys
from bpefleet.shared.trust.signing import Signer
from bpefleet.worker.pool import WorkerPool
from bpefleet.worker.activity.tally import Tally
from bpefleet.worker.activity.activity_log import ActivityLog

class Stops(logging.Handler):
    def emit(self, record):
        if "starting another" in record.getMessage():
            os.kill(os.getpid(), signal.SIGTERM)

logging.getLogger("bpefleet.worker").addHandler(Stops())
sys.exit(WorkerPool(sys.argv[1], 1, signer=Signer(), activity=ActivityLog(Tally(1), "")).run())
"""
"""A pool that gets SIGTERM when it has decided to start another worker and has not yet."""

_STOPPED_AT_REAPING = """
import os, signal, sys
from bpefleet.shared.trust.signing import Signer
from bpefleet.worker.pool import WorkerPool
from bpefleet.worker.activity.tally import Tally
from bpefleet.worker.activity.activity_log import ActivityLog

def stopping(wait):
    def and_stop(*arguments):
        pid, status = wait(*arguments)
        if pid and not stopped:
            stopped.append(pid)
            os.kill(os.getpid(), signal.SIGTERM)
        return pid, status
    return and_stop

stopped = []
os.wait, os.waitpid = stopping(os.wait), stopping(os.waitpid)
sys.exit(WorkerPool(sys.argv[1], 2, signer=Signer(), activity=ActivityLog(Tally(2), "")).run())
"""
"""A pool that gets SIGTERM when the kernel knows a dead worker no more, and the pool still does."""

_SWALLOWS_THE_STOP = """
import os, signal, sys
from contextlib import suppress
from bpefleet.shared.trust.signing import Signer
from bpefleet.worker.activity.activity_log import ActivityLog
from bpefleet.worker.pool import WorkerPool
from bpefleet.worker.activity.tally import Tally
from bpefleet.worker.worker import FleetWorker

def heartbeat(worker, **options):
    sent(worker, **options)
    if worker.get_state() == "idle" and not worker.stop_requested:
        with suppress(Exception):
            os.kill(os.getpid(), signal.SIGTERM)

sent, FleetWorker.heartbeat = FleetWorker.heartbeat, heartbeat
sys.exit(WorkerPool(sys.argv[1], 1, signer=Signer(), activity=ActivityLog(Tally(1), "")).run())
"""
"""A pool whose worker gets SIGTERM where any error is caught."""


@contextmanager
def _pool(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("wb") as stderr,
        subprocess.Popen([sys.executable, "-P", *command], stderr=stderr) as process,
    ):
        try:
            # One that stops itself may be gone before it is looked for.
            eventually(lambda: children(process.pid) or process.poll() is not None)
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
        assert pool.wait(120) == 0


def test_a_stop_in_the_instant_that_a_dead_worker_was_reaped(
    redis_url: str, tmp_path: Path
) -> None:
    with _pool(tmp_path / "log", "-c", _STOPPED_AT_REAPING, redis_url) as pool:
        eventually(lambda: len(children(pool.pid)) == 2)
        first, second = children(pool.pid)
        os.kill(first, signal.SIGKILL)
        assert pool.wait(120) == 0, (tmp_path / "log").read_text()
        assert not is_alive(second)
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_stop_that_falls_where_any_error_is_caught_is_followed(
    redis_url: str, tmp_path: Path
) -> None:
    with _pool(tmp_path / "log", "-c", _SWALLOWS_THE_STOP, redis_url) as pool:
        assert pool.wait(120) == 0, (tmp_path / "log").read_text()
