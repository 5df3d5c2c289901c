"""Workers that die or fall silent, a Redis that is away for a minute, a chunk that always kills.

What all these have in common is that somebody waits. So they go on at the same time, each with a
Redis and workers of its own, and each test waits for one of them.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import orjson
import pytest

from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.failures import ABANDONED
from bpefleet.shared.wire.rq_keys import STARTED, STATUS, job_key
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.cable import Cable
from tests.faults.corpora import slow_chunks, without_first
from tests.faults.launcher import Launcher, counted, failed_kinds, history, kill
from tests.faults.proxy import Proxy
from tests.faults.server import LOOPBACK, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from redis import Redis

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command

pytestmark = pytest.mark.slow

OUTAGE: Final = 60.0
DEADLINE: Final = 120.0
"""Seconds for what takes twenty or so where nothing else goes on."""
LONG: Final = 4.0
"""CPU seconds that one document takes."""


@pytest.mark.parametrize("name", ["killed_workers", "killed_pool", "stopped_worker", "silent_relay",
                                  "pulled_cable", "outage", "poison"])  # fmt: skip
def test_it_is_ridden_out(name: str, scenes: dict[str, Future[None]]) -> None:
    scenes[name].result()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[None]]]:
    """All scenes, which began together."""
    long = slow_chunks(tmp_path_factory.mktemp("long"), 20, long=[LONG])
    begun: dict[str, Future[None]] = {}
    with ThreadPoolExecutor(7) as threads:
        for scene in _SCENES:
            folder = tmp_path_factory.mktemp(scene.__name__)
            begun[scene.__name__] = threads.submit(scene, long, folder)
        yield begun


def killed_workers(task: Task, folder: Path) -> None:
    """Both workers of a run are killed; their work-horses die with them.

    One at least was counting: what is killed between taking a chunk and beginning is no attempt.
    """
    out = folder / "run"
    with Launcher(folder) as launch:
        run = launch(*task.train(out), "--workers", 2)
        eventually(lambda: counted(out) > 2 and len(run.work_horses) == 2, DEADLINE)
        for worker in run.workers:
            assert kill(worker)
        run.succeeds()
        assert run.said.count("its worker died, or was cut off from Redis") in {1, 2}
    task.check(out)
    assert failed_kinds(out) == {ABANDONED}


def killed_pool(task: Task, folder: Path) -> None:
    """All workers of a shared Redis die at once, and others take their place."""
    out = folder / "run"
    with Server(folder / "redis") as server, Launcher(folder) as launch:
        workers = launch.workers(server.url)
        run = launch(*task.train(out), "--redis", server.url)
        eventually(lambda: counted(out) > 2 and len(workers.work_horses) == 2, DEADLINE)
        workers.kill()
        launch.workers(server.url)
        run.succeeds()
    task.check(out)
    assert failed_kinds(out) == {ABANDONED}


def stopped_worker(task: Task, folder: Path) -> None:
    """A worker and its work-horse are stopped until their chunk was counted elsewhere."""
    with Server(folder / "redis") as server, Launcher(folder) as launch:
        far = launch.workers(server.url, 1)

        def send(number: signal.Signals) -> None:
            for pid in (*far.workers, *far.work_horses):
                os.kill(pid, number)

        _silence(task, folder / "run", server, far, launch,
                 cut=lambda: send(signal.SIGSTOP), mend=lambda: send(signal.SIGCONT))  # fmt: skip


def silent_relay(task: Task, folder: Path) -> None:
    """Nothing comes through between a worker and Redis, though connections stay open."""
    with ExitStack() as stack:
        server = stack.enter_context(Server(folder / "redis"))
        proxy = stack.enter_context(Proxy(server.port))
        launch = stack.enter_context(Launcher(folder))
        far = launch.workers(proxy.url, 1)
        _silence(task, folder / "run", server, far, launch, cut=proxy.cut, mend=proxy.mend)


def pulled_cable(task: Task, folder: Path) -> None:
    """A worker's machine loses its network."""
    with ExitStack() as stack:
        cable = stack.enter_context(Cable())
        server = stack.enter_context(Server(folder / "redis", anywhere=True))
        launch = stack.enter_context(Launcher(folder))
        url = server.url.replace(LOOPBACK, cable.here)
        options = ("--insecure", "--corpus-root", task.path.parent)
        far = launch.workers(url, 1, *options, prefix=cable.inside)
        _silence(task, folder / "run", server, far, launch, cut=cable.cut, mend=cable.mend)


def _silence(
    task: Task,
    out: Path,
    server: Server,
    far: Command,
    launch: Launcher,
    *,
    cut: Callable[[], None],
    mend: Callable[[], None],
) -> None:
    """A far worker falls silent in the middle of chunk 0, and comes back when that is counted."""
    run = launch(*task.train(out), "--redis", server.url)
    with server.client() as client:
        eventually(lambda: _is_begun(client), DEADLINE)
    (worker,) = far.workers
    cut()
    eventually(lambda: history(out), DEADLINE)
    launch.workers(server.url, 1)
    eventually(lambda: any(a.chunk == 0 and a.outcome == "counted" for a in history(out)), DEADLINE)
    mend()
    run.succeeds()
    task.check(out)
    assert [(a.chunk, a.kind) for a in history(out) if a.outcome == "failed"] == [(0, ABANDONED)]
    assert far.workers == [worker]
    # Its late result came to nothing, and its worker takes new chunks as before.
    again = out.with_name("again")
    launch(*task.train(again), "--redis", server.url).succeeds()
    eventually(lambda: not far.work_horses, DEADLINE)
    with server.client() as client:
        late = list(client.scan_iter("bpefleet:*"))
        assert all(client.ttl(key) > 0 for key in late)


def _is_begun(client: Redis) -> bool:
    """Whether a work-horse is at a chunk: one that is lost before it begins is no attempt."""
    jobs = client.scan_iter(job_key("*"))
    return any(client.hget(job, STATUS) == STARTED for job in jobs)


def outage(task: Task, folder: Path) -> None:
    """Redis is away for a minute, while one worker counts and another has nothing to do."""
    out = folder / "run"
    with Server(folder / "redis", keeps=True) as server, Launcher(folder) as launch:
        workers = launch.workers(server.url)
        idle = launch.workers(server.url, 1)
        before = eventually(lambda: len(workers.workers) == 2 and workers.workers, DEADLINE)
        (bystander,) = eventually(lambda: idle.workers, DEADLINE)
        run = launch(*task.train(out), "--redis", server.url)
        eventually(lambda: len(workers.work_horses) == 2, DEADLINE)
        server.kill()
        time.sleep(OUTAGE)
        server.start()
        run.succeeds()
        task.check(out)
        assert workers.workers == before
        assert idle.workers == [bystander]
        # All of them serve on.
        with server.client() as client:
            eventually(lambda: client.scard("rq:workers:bpefleet") == 3, DEADLINE)


def poison(task: Task, folder: Path) -> None:
    """A chunk gets its work-horse killed whenever it is counted: here for its CPU time."""
    out, without = folder / "run", folder / "without"
    with Server(folder / "redis") as server, Launcher(folder) as launch:
        workers = launch.workers(server.url)
        workers.limit(resource.RLIMIT_CPU, 2)
        runs = [
            launch(*task.train(out), "--redis", server.url),
            launch(*task.train(without), "--redis", server.url, "--allow-missing", "90%"),
        ]
        assert runs[0].wait(300) == 6, runs[0].said
        assert f"bpefleet retry {out}" in runs[0].said
        assert runs[1].wait(100) == 0, runs[1].said
        assert "the counts lack" in runs[1].said
    (line,) = bpefleet("failed", out).stdout.splitlines()
    assert line.startswith(f"0: {task.path} bytes 0-")
    assert "4 attempts" in line
    assert "SIGKILL" in line
    assert bpefleet("failed", out, "--traceback", 0).stdout.count("\nattempt ") == 4
    status = orjson.loads(bpefleet("status", out, "--json").stdout)
    assert (status["counted"], len(status["failed"])) == (status["chunks"] - 1, 1)
    manifest = orjson.loads((without / MANIFEST).read_bytes())
    assert [one["chunk"] for one in manifest["missing"]] == [0]
    assert artifacts(without) == without_first(task, folder / "others").expected
    healed = bpefleet("retry", out, "--workers", 1)
    assert healed.returncode == 0, healed.stderr
    task.check(out)


_SCENES: Final = (
    outage,
    poison,
    stopped_worker,
    silent_relay,
    pulled_cable,
    killed_workers,
    killed_pool,
)
"""The longest first."""
