"""A run that is stopped on purpose, and a second one where there may be one only."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.directory import COUNTS
from bpefleet.producer.lock import holder
from bpefleet.shared.keys import QUEUE
from bpefleet.shared.tokenizer import MANIFEST
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import counted, failed_kinds, history
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Launcher
    from tests.faults.server import Server


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Two chunks that take seconds, and some that do not."""
    return slow_chunks(tmp_path_factory.mktemp("long"), 6, long=[45_000, 45_000])


def test_ctrl_c_once_finishes_what_runs(long: Task, launch: Launcher, out: Path) -> None:
    run = launch(*long.train(out), "--workers", 2)
    eventually(lambda: len(run.work_horses) == 2, 20)
    run.send(signal.SIGINT)
    assert run.wait(30) == 130
    assert "the running chunks are finished first; Ctrl-C again stops at once" in run.said
    assert f"bpefleet resume {out}" in run.said
    assert sorted(attempt.chunk for attempt in history(out)) == [0, 1]
    assert failed_kinds(out) == set()
    launch("resume", out).succeeds()
    long.check(out)


def test_ctrl_c_twice_stops_now(long: Task, launch: Launcher, out: Path) -> None:
    run = launch(*long.train(out), "--workers", 2)
    eventually(lambda: len(run.work_horses) == 2, 20)
    run.send(signal.SIGINT)
    eventually(lambda: "Ctrl-C again" in run.said)
    run.send(signal.SIGINT)
    begun = time.monotonic()
    assert run.wait(30) == 130
    assert time.monotonic() - begun < 1
    assert history(out) == []
    assert "Traceback" not in run.said
    # Nothing was counted: the name is free again, or the run goes on.
    again = launch(*long.train(out)) if not out.exists() else launch("resume", out)
    again.succeeds()
    long.check(out)


def test_ctrl_c_while_the_report_is_written(launch: Launcher, out: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(english().documents) * 10)  # enough to measure for a while
    run = launch("train", text, "--vocab-size", 1000, "-o", out, "--report")
    eventually(lambda: (out / MANIFEST).exists() and holder(out) is None, 60)
    # Python may pass over one: an exception in a callback of its own is printed and ignored.
    ended = None
    while ended is None:
        run.send(signal.SIGINT)
        with suppress(TimeoutExpired):
            ended = run.wait(1)
    # It also dies (3.11) of one that was caught, if that came in an `exec` of text, as the imports
    # of dataclasses are.
    assert ended in {130, -signal.SIGINT}
    assert "error: the run is done, and its report is not" in run.said
    assert f"bpefleet report {out}" in run.said
    assert not (out / "report.md").exists()


def test_cancel(slow: Task, launch: Launcher, out: Path, server: Server) -> None:
    workers = launch.workers(server.url)
    run = launch(*slow.train(out), "--redis", server.url)
    eventually(lambda: counted(out) > 2, 20)
    done = bpefleet("cancel", out, timeout=30)
    assert done.returncode == 0, done.stderr
    assert f"stopped process {run.pid}" in done.stdout
    assert f"bpefleet resume {out}" in done.stdout
    assert run.wait(5) == 130
    with server.client() as client:
        assert client.llen(f"rq:queue:{QUEUE}") == 0
        kinds = {key.split(b":")[1] for key in client.scan_iter("bpefleet:*")}
        assert kinds <= {b"check", b"runs", b"status", b"detail"}
    eventually(lambda: not workers.work_horses)
    assert failed_kinds(out) == set()
    launch("resume", out, "--redis", server.url).succeeds()
    slow.check(out)


def test_cancel_after_a_producer_died(
    slow: Task, launch: Launcher, out: Path, server: Server
) -> None:
    run = launch(*slow.train(out), "--redis", server.url)
    with server.client() as client:
        eventually(lambda: client.llen(f"rq:queue:{QUEUE}") == 4, 20)
        run.kill()
        done = bpefleet("cancel", out, "--redis", server.url, timeout=30)
        assert "4 jobs taken off the queue" in done.stdout, done.stderr
        assert client.llen(f"rq:queue:{QUEUE}") == 0
    launch("resume", out).succeeds()
    slow.check(out)


def test_a_second_producer_is_refused(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 1)
    eventually(lambda: counted(out) > 2, 20)
    for second in (("resume", out), slow.train(out)):
        refused = bpefleet(*map(str, second), timeout=30)
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
        if second[0] == "resume":
            assert refused.returncode == 4
            assert f"{out} is in use by process {run.pid}" in refused.stderr
    run.succeeds()
    slow.check(out)


def test_a_run_killed_before_its_plan_was_written(slow: Task, launch: Launcher, out: Path) -> None:
    (out / COUNTS).mkdir(parents=True)
    (out / "plan.json.tmp").write_bytes(b"{")
    launch(*slow.train(out), "--workers", 2).succeeds()
    slow.check(out)
