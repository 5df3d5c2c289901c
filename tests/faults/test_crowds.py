"""A thousand workers, a disk that is slow, and a stream full of what is no event."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

from bpefleet.producer.queueing.serving.workers import live_workers
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.wire.keys import events_key
from tests.eventually import eventually
from tests.faults.corpora import hundred_chunks
from tests.faults.launcher import history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server

pytestmark = [pytest.mark.serial, pytest.mark.slow]

WORKERS: Final = 1000
FOREIGN: Final = 100_000
SLOW_DISK: Final = """
import os, time
sync = os.fsync
def slow(descriptor):
    time.sleep({seconds})
    sync(descriptor)
os.fsync = slow
from bpefleet.producer.cli.entry import main
main()
"""


@contextmanager
def crowd(server: Server, number: int) -> Iterator[None]:
    """Many workers that serve a Redis."""
    command = [sys.executable, "-m", "tests.faults.crowd", server.url, str(number)]
    process = subprocess.Popen(command)
    try:
        with server.client() as client:
            eventually(lambda: live_workers(client) == number)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """More chunks than there are events in flight at once."""
    return hundred_chunks(tmp_path_factory.mktemp("hundred"))


def test_what_waits_to_be_folded_is_not_counted_again(
    task: Task, out: Path, server: Server, launch: Launcher
) -> None:
    """All chunks are counted before a quarter of them is on the disk."""
    with crowd(server, WORKERS):
        program = SLOW_DISK.format(seconds=0.25)
        run = launch(*task.train(out), "--redis", server.url, program=program)
        run.succeeds(240)
    _counted_once(run, out)
    task.check(out)


def test_foreign_entries_are_dropped_in_passing(
    task: Task, out: Path, server: Server, launch: Launcher
) -> None:
    run = launch(*task.train(out), "--redis", server.url)
    eventually((out / "plan.json").exists)
    key = events_key(RunDirectory.open(out).plan.run)
    with server.client() as client:
        for _ in range(FOREIGN // 10_000):
            with client.pipeline(transaction=False) as pipeline:
                for number in range(10_000):
                    pipeline.xadd(key, {"chunk": number, "body": "none of ours"})
                pipeline.execute()
    launch.workers(server.url, 2)
    run.succeeds(240)
    assert f"{FOREIGN:,} events that are not a worker's were left aside" in run.said
    _counted_once(run, out)
    task.check(out)


def _counted_once(run: Command, out: Path) -> None:
    """Each chunk was counted, and no attempt failed or was repeated."""
    chunks = len(RunDirectory.open(out).plan.chunks)
    assert chunks > 80
    assert "counted again" not in run.said
    assert [attempt.outcome for attempt in history(out)] == ["counted"] * chunks
