"""A run whose counts lie in an exchange: killed, emptied, full, out of reach."""

from __future__ import annotations

import shutil
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from bpefleet.producer.store.directory import COUNTS
from bpefleet.producer.store.exchanged.journal import EXCHANGED, read_parts
from bpefleet.producer.store.history import read_attempts
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.corpora import few_chunks
from tests.faults.launcher import counted, failed_kinds, kill
from tests.processes import children

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server

_WAITING: Final = """
import sys, time
from pathlib import Path
from bpefleet.worker.tasks import reduce
from bpefleet.worker.__main__ import main

put_together, gate = reduce.put_together, Path({gate!r})

def wait_and_put_together(*arguments):
    (gate / "there").touch()
    while not (gate / "open").exists():
        time.sleep(0.01)
    return put_together(*arguments)

reduce.put_together = wait_and_put_together
sys.argv[0] = "worker"
main(sys.argv[2:])
"""
"""A worker pool in which sums wait until they are let through."""


_RANGES: Final = """
from bpefleet.producer.cli import main
from bpefleet.producer.counting.exchange import sums

sums.LARGE, sums.MOST, sums.RANGES = 0, 8, 4
main()
"""
"""A producer for which every sum is large enough to be divided."""


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    """A place that producer and workers see."""
    (folder := tmp_path / "exchange").mkdir()
    return folder


def _sums(out: Path) -> list[str]:
    """How the attempts at sums ended."""
    ends = read_attempts(out, "reduce").values()
    return [attempt.kind or attempt.outcome for attempts in ends for attempt in attempts]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["", _RANGES], ids=["whole", "ranges"])
def test_the_producer_at_any_instant(
    many: Task, launch: Launcher, out: Path, exchange: Path, drawn: random.Random, program: str
) -> None:
    for _ in range(4):
        begin = (*many.train(out), "--exchange", exchange, "--workers", 2)
        run = launch(*(begin if not out.exists() else ("resume", out)), program=program)
        eventually((out / "plan.json").exists)
        least = counted(out) + drawn.randint(10, 60)
        eventually(partial(_counted_or_over, run, out, least))
        run.kill()
        if (out / MANIFEST).exists():
            break
    if not (out / MANIFEST).exists():
        launch("resume", out, "--workers", 2, program=program).succeeds()
    many.check(out)
    assert failed_kinds(out) == set()
    assert "reduced" in _sums(out)
    assert not list(exchange.iterdir())
    assert not (out / COUNTS / EXCHANGED).exists()


def _counted_or_over(run: Command, out: Path, least: int) -> bool:
    return counted(out) >= least or run.ended


@pytest.mark.slow
@pytest.mark.parametrize("producer", ["", _RANGES], ids=["whole", "ranges"])
def test_a_work_horse_that_dies_at_a_sum_costs_that_attempt_alone(
    many: Task,
    launch: Launcher,
    out: Path,
    exchange: Path,
    server: Server,
    producer: str,
) -> None:
    (gate := exchange.parent / "gate").mkdir()
    options = ("--redis", server.url, "-n", 1, "-v", "--exchange", exchange)
    pool = launch("worker", *options, program=_WAITING.format(gate=str(gate)))
    more = ("--redis", server.url, "--exchange", exchange)
    run = launch(*many.train(out), *more, program=producer)
    eventually((gate / "there").exists)
    assert kill(children(pool.workers[0])[0])
    (gate / "open").touch()
    run.succeeds()
    many.check(out)
    assert sorted(set(_sums(out))) == ["WorkHorseKilled", "reduced"]
    assert "it is reduced again, retry 1 of 3" in run.said
    assert not list(exchange.iterdir())


@pytest.mark.slow
def test_counts_that_are_lost_are_made_again(
    many: Task, launch: Launcher, out: Path, exchange: Path, drawn: random.Random
) -> None:
    run = launch(*many.train(out), "--exchange", exchange, "--workers", 2)
    eventually(lambda: len(list(exchange.glob("*/*.counts"))) > 12)
    run.send(signal.SIGSTOP)
    files = sorted(exchange.glob("*/*.counts"))
    for path in drawn.sample(files, 6):
        path.unlink()
    for path in drawn.sample([path for path in files if path.exists()], 3):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    run.send(signal.SIGCONT)
    run.succeeds()
    many.check(out)
    assert not list(exchange.iterdir())


@pytest.mark.slow
def test_an_exchange_that_is_gone_when_the_run_goes_on(
    slow: Task, launch: Launcher, out: Path, exchange: Path
) -> None:
    run = launch(*slow.train(out), "--exchange", exchange, "--workers", 2)
    eventually(lambda: counted(out) > 5)
    run.kill()
    elsewhere = exchange.with_name("moved")
    exchange.rename(elsewhere)
    run = launch("resume", out, "--workers", 2)
    assert run.wait() == 2
    assert "is no directory" in run.said
    elsewhere.rename(exchange)
    for folder in exchange.iterdir():
        shutil.rmtree(folder)
    launch("resume", out, "--workers", 2).succeeds()
    slow.check(out)


def test_what_lies_there_is_brought_in_without_workers(
    many: Task, launch: Launcher, out: Path, exchange: Path
) -> None:
    run = launch(*many.train(out), "--exchange", exchange, "--workers", 2)
    eventually(lambda: counted(out) > 40)
    run.send(signal.SIGINT)
    assert run.wait() == 130
    done = len(read_parts(out / COUNTS).chunks)
    assert done > 40
    told = bpefleet("status", out).stdout
    assert f"  chunks   {done} of" in told
    assert "made in the exchange" in told
    next(exchange.glob("*/*.counts")).unlink()
    launch("resume", out, "--workers", 0).succeeds()
    many.check(out)
    assert not list(exchange.iterdir())


@pytest.mark.slow
def test_a_full_exchange(many: Task, launch: Launcher, out: Path, exchange: Path) -> None:
    mount = ("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", exchange)
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted")
    try:
        run = launch(*many.train(out), "--exchange", exchange, "--workers", 2)
        eventually(lambda: "is full; it is counted again, as often as it takes" in run.said)
        more = ("mount", "-o", "remount,size=64m", exchange)
        assert not subprocess.run(more, check=False).returncode
        run.succeeds()
        assert "Traceback" not in run.said
    finally:
        subprocess.run(("umount", "-l", exchange), check=False)
    many.check(out)


@pytest.mark.slow
def test_a_worker_writes_where_it_was_told_that_it_may(
    tmp_path: Path, launch: Launcher, out: Path, exchange: Path, server: Server
) -> None:
    few = few_chunks(tmp_path / "few")
    (exchange.parent / "other").mkdir()
    pool = launch.workers(server.url, 1, "--exchange", exchange.parent / "other")
    run = launch(*few.train(out), "--redis", server.url, "--exchange", exchange)
    assert run.wait() == 6, run.said
    assert "is no exchange of this worker" in run.said
    assert read_parts(out / COUNTS).chunks == set()
    pool.kill()
    launch.workers(server.url, 2, "--exchange", exchange)
    launch("resume", out, "--redis", server.url).succeeds()
    few.check(out)
