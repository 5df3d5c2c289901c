"""Redis dies, with and without a memory on disk, or has no room."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import orjson
import pytest

from bpefleet.producer.observing.snapshot import SNAPSHOT
from tests.eventually import eventually
from tests.faults.launcher import counted
from tests.faults.server import Server

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher


@pytest.mark.crossed(2)
@pytest.mark.parametrize("keeps", [True, False], ids=["with AOF", "without persistence"])
def test_redis_at_any_instant(
    many: Task,
    launch: Launcher,
    out: Path,
    tmp_path: Path,
    drawn: random.Random,
    keeps: bool,  # noqa: FBT001
) -> None:
    with Server(tmp_path / "redis", keeps=keeps) as server:
        workers = launch.workers(server.url)
        before = eventually(lambda: len(workers.workers) == 2 and workers.workers)
        run = launch(*many.train(out), "--redis", server.url)
        for _ in range(4):
            eventually(partial(_more, out, run, counted(out)))
            time.sleep(drawn.uniform(0, 0.2))
            server.kill()
            time.sleep(drawn.uniform(0, 0.2))
            server.start()
        run.succeeds()
        assert workers.workers == before
    many.check(out)


def _updated(out: Path) -> float:
    """When a run last told how it is."""
    found: float = orjson.loads((out / SNAPSHOT).read_bytes())["updated"]
    return found


def _more(out: Path, run: Command, than: int) -> bool:
    return counted(out) > than or run.ended


@pytest.mark.slow
def test_a_full_redis(slow: Task, launch: Launcher, out: Path, server: Server) -> None:
    launch.workers(server.url)
    run = launch(*slow.train(out), "--redis", server.url)
    eventually(lambda: counted(out) > 2)
    with server.client() as client:
        client.config_set("maxmemory", "1")
        eventually(lambda: "Redis is full (maxmemory); waiting for room" in run.said)
        then = time.time()
        eventually(lambda: _updated(out) > then + 3)  # it lives, and waits
        assert not run.ended, run.said
        client.config_set("maxmemory", "0")
    run.succeeds()
    slow.check(out)
