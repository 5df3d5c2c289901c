"""kill -9 of whatever counts, folds or merges, at any instant."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.eventually import eventually
from tests.faults.launcher import counted, history, kill

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server


@pytest.mark.slow
def test_work_horses(slow: Task, launch: Launcher, out: Path, drawn: random.Random) -> None:
    run = launch(*slow.train(out), "--workers", 2)
    for _ in range(5):
        time.sleep(drawn.uniform(0, 0.1))
        eventually(lambda: kill(next(iter(run.work_horses), 0)))
    run.succeeds()
    slow.check(out)
    killed = [attempt for attempt in history(out) if attempt.kind == "WorkHorseKilled"]
    # One that had already told of its chunk when it was killed did no harm.
    assert killed
    assert all("SIGKILL" in attempt.error and attempt.peak_rss for attempt in killed)
    assert "it is counted again, retry 1 of 3" in run.said


@pytest.mark.slow
def test_the_pool(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 2)
    assert kill(run.pool or 0)
    assert run.wait() == 5
    assert "the local workers ended unasked" in run.said
    assert f"bpefleet resume {out}" in run.said
    launch("resume", out).succeeds()
    slow.check(out)


@pytest.mark.crossed(2)
@pytest.mark.parametrize("shared", [True, False], ids=["shared Redis", "own Redis"])
def test_the_producer_at_any_instant(
    many: Task,
    launch: Launcher,
    out: Path,
    server: Server,
    drawn: random.Random,
    shared: bool,  # noqa: FBT001
) -> None:
    where = ("--redis", server.url) if shared else ("--workers", 2)
    if shared:
        launch.workers(server.url)
    kills = 0
    while kills < 5 and not (out / MANIFEST).exists():
        run = launch(*many.train(out) if not out.exists() else ("resume", out), *where)
        eventually(partial(_planned, run, out))
        eventually(partial(_counted, run, out, counted(out) + drawn.randint(0, 30)))
        run.kill()
        kills += 1
    assert kills > 2
    if not (out / MANIFEST).exists():
        launch("resume", out, *where).succeeds()
    many.check(out)
    assert {attempt.outcome for attempt in history(out)} == {"counted"}


@pytest.mark.slow
def test_the_trainer_at_any_instant(
    many: Task, launch: Launcher, out: Path, drawn: random.Random
) -> None:
    run = launch(*many.train(out), "--workers", 2)
    assert kill(eventually(partial(_trainer, run)))  # before there is anything to merge
    for _ in range(5):
        if run.wait() == 0:  # it was through before it was killed
            break
        assert run.wait() == 7, run.said
        assert "the trainer was killed by SIGKILL" in run.said
        assert f"bpefleet resume {out}" in run.said
        run = launch("resume", out, "--workers", 1)
        trainer = eventually(partial(_trainer, run))
        eventually(partial(_merges, run))
        time.sleep(drawn.uniform(0, 0.15))
        kill(trainer)
    if run.wait() != 0:
        run = launch("resume", out, "--workers", 1)
    run.succeeds()
    many.check(out)


@pytest.mark.slow
def test_the_server_that_a_run_brought_along(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 2)
    assert kill(run.server or 0)
    assert run.wait() == 5
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said
    launch("resume", out).succeeds()
    slow.check(out)


def _planned(run: Command, out: Path) -> bool:
    return (out / PLAN).exists() or run.ended


def _counted(run: Command, out: Path, chunks: int) -> bool:
    return counted(out) >= chunks or run.ended


def _trainer(run: Command) -> int:
    return run.trainer or 0


def _merges(run: Command) -> bool:
    return "merge:" in run.said or run.ended
