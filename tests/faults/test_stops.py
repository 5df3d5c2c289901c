"""A run that is stopped on purpose, and a second one where there may be one only."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

import orjson
import pytest

from bpefleet.producer.counting.through_redis.requests import RETRY_FILE
from bpefleet.producer.files.lock import holder, lock_id
from bpefleet.producer.observing.snapshot import SNAPSHOT
from bpefleet.producer.store.directory import COUNTS, PLAN
from bpefleet.producer.store.stop import CANCEL, ask_cancel
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.keys import QUEUE
from bpefleet.shared.wire.shown.status import MERGE
from tests.command import alive, bpefleet
from tests.eventually import eventually
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import counted, failed_kinds, history
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Two chunks that take a second, and some that do not."""
    return slow_chunks(tmp_path_factory.mktemp("long"), 6, long=[1, 1])


@pytest.mark.slow
def test_ctrl_c_once_finishes_what_runs(long: Task, launch: Launcher, out: Path) -> None:
    run = launch(*long.train(out), "--workers", 2)
    eventually(lambda: len(run.work_horses) == 2)
    run.send(signal.SIGINT)
    assert run.wait() == 130
    assert "the running chunks are finished first; Ctrl-C again stops at once" in run.said
    assert f"bpefleet resume {out}" in run.said
    assert sorted(attempt.chunk for attempt in history(out)) == [0, 1]
    assert failed_kinds(out) == set()
    launch("resume", out).succeeds()
    long.check(out)


@pytest.mark.slow
def test_ctrl_c_twice_stops_now(long: Task, launch: Launcher, out: Path) -> None:
    run = launch(*long.train(out), "--workers", 2)
    for horse in eventually(lambda: horses if len(horses := run.work_horses) == 2 else []):
        os.kill(horse, signal.SIGSTOP)  # they would never end
    run.send(signal.SIGINT)
    eventually(lambda: "Ctrl-C again" in run.said)
    run.send(signal.SIGINT)
    assert run.wait() == 130
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
    eventually(lambda: (out / MANIFEST).exists() and holder(out) is None)
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


@pytest.mark.slow
def test_cancel(slow: Task, launch: Launcher, out: Path, server: Server) -> None:
    workers = launch.workers(server.url)
    run = launch(*slow.train(out), "--redis", server.url)
    eventually(lambda: counted(out) > 2)
    done = bpefleet("cancel", out, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"stopped process {run.pid}" in done.stdout
    assert f"bpefleet resume {out}" in done.stdout
    assert run.wait() == 130
    with server.client() as client:
        assert client.llen(f"rq:queue:{QUEUE}") == 0
        kinds = {key.split(b":")[1] for key in client.scan_iter("bpefleet:*")}
        assert kinds <= {b"check", b"runs", b"status", b"detail"}
    eventually(lambda: not workers.work_horses)
    assert failed_kinds(out) == set()
    launch("resume", out, "--redis", server.url).succeeds()
    slow.check(out)


@pytest.mark.slow
def test_cancel_after_a_producer_died(
    slow: Task, launch: Launcher, out: Path, server: Server
) -> None:
    run = launch(*slow.train(out), "--redis", server.url)
    with server.client() as client:
        eventually(lambda: client.llen(f"rq:queue:{QUEUE}") == 4)
        run.kill()
        assert "no process works on" in bpefleet("cancel", out).stdout
        done = bpefleet("cancel", out, "--redis", server.url, timeout=120)
        assert "4 jobs taken off the queue" in done.stdout, done.stderr
        assert client.llen(f"rq:queue:{QUEUE}") == 0
    launch("resume", out).succeeds()
    slow.check(out)


@pytest.mark.slow
def test_a_second_producer_is_refused(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 1)
    eventually(lambda: counted(out) > 2)
    for second in (("resume", out), slow.train(out)):
        refused = bpefleet(*map(str, second), timeout=120)
        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
        if second[0] == "resume":
            assert refused.returncode == 4
            assert f"{out} is in use by process {run.pid}" in refused.stderr
    run.succeeds()
    slow.check(out)


@pytest.mark.slow
def test_a_run_killed_before_its_plan_was_written(slow: Task, launch: Launcher, out: Path) -> None:
    (out / COUNTS).mkdir(parents=True)
    (out / "plan.json.tmp").write_bytes(b"{")
    launch(*slow.train(out), "--workers", 2).succeeds()
    slow.check(out)


def _stopped_as_soon_as(condition: Callable[[], object], run: Command) -> None:
    """Hold a process still as soon as something is so."""
    eventually(condition)
    run.send(signal.SIGSTOP)


def test_cancel_while_a_run_starts(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 1)
    _stopped_as_soon_as(lambda: holder(out), run)
    assert not (out / PLAN).exists()
    cancelling = launch("cancel", out)
    eventually((out / CANCEL).exists)
    for words in (("status", out), ("resume", out), ("retry", out)):
        early = bpefleet(*words, timeout=120)
        assert early.returncode == 4
        assert f"process {run.pid} on " in early.stderr
    run.send(signal.SIGCONT)
    cancelling.succeeds()
    assert run.wait() == 130
    assert "start again" in run.said
    assert not out.exists()


@pytest.mark.slow
def test_cancel_of_another_run_stops_nobody(slow: Task, launch: Launcher, out: Path) -> None:
    """What was meant for a process before is left aside."""
    run = launch(*slow.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 2)
    held = lock_id(out)
    run.kill()
    assert held is not None
    ask_cancel(out, held)
    launch("resume", out).succeeds()
    slow.check(out)


def _merging(out: Path) -> bool:
    with suppress(FileNotFoundError):
        return bool(orjson.loads((out / SNAPSHOT).read_bytes())["stage"] == MERGE)
    return False


@pytest.mark.slow
def test_cancel_while_merging(many: Task, launch: Launcher, out: Path) -> None:
    run = launch(*many.train(out), "--workers", 2)
    trainer = eventually(lambda: run.trainer or 0)
    os.kill(trainer, signal.SIGSTOP)  # merging takes as long as it may
    eventually(lambda: _merging(out))
    done = bpefleet("cancel", out, timeout=120)
    assert f"stopped process {run.pid}" in done.stdout, done.stderr
    assert f"bpefleet resume {out}" in done.stdout
    assert run.wait() == 130
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said
    assert not alive({trainer})
    resumed = launch("resume", out, "--workers", 1)
    resumed.succeeds()
    many.check(out)


@pytest.mark.slow
def test_cancel_while_merging_in_process(launch: Launcher, out: Path, tmp_path: Path) -> None:
    letters = random.Random(1)
    words = ("".join(letters.choices("abcdefgh", k=letters.randint(8, 30))) for _ in range(400_000))
    text = tmp_path / "text.txt"
    text.write_text(" ".join(words))
    run = launch("train", text, "--vocab-size", 400_000, "-o", out, "--workers", 0)
    eventually(lambda: _merging(out))
    done = bpefleet("cancel", out, timeout=120)
    assert f"stopped process {run.pid}" in done.stdout, done.stderr
    assert run.wait() == 130
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said


@pytest.mark.slow
def test_cancel_of_a_merge(many: Task, launch: Launcher, out: Path, tmp_path: Path) -> None:
    launch(*many.train(out), "--workers", 2).succeeds()
    other = tmp_path / "other"
    run = launch("merge", out, "--vocab-size", 900, "-o", other)
    trainer = eventually(lambda: run.trainer or 0)
    os.kill(trainer, signal.SIGSTOP)
    done = bpefleet("cancel", other, timeout=120)
    assert f"stopped process {run.pid}" in done.stdout, done.stderr
    assert run.wait() == 130
    assert "Traceback" not in run.said
    assert not other.exists()
    many.check(out)


def test_cancel_while_files_are_listed(launch: Launcher, out: Path, tmp_path: Path) -> None:
    text = tmp_path / "t"
    text.write_text("text")
    # Listed to its end, it would fail: the last file is not there.
    run = launch("train", *[text] * 10_000, tmp_path / "no", "-o", out, "--vocab-size", 300)
    _stopped_as_soon_as(lambda: holder(out), run)
    cancelling = launch("cancel", out)
    eventually((out / CANCEL).exists)
    run.send(signal.SIGCONT)
    assert run.wait(120) == 130, run.said
    cancelling.succeeds()
    assert not out.exists()


@pytest.mark.slow
def test_a_second_run_of_the_same_name_harms_nobody(
    slow: Task, launch: Launcher, out: Path, tmp_path: Path
) -> None:
    """The first one has not even planned what to do."""
    run = launch(*slow.train(out), "--workers", 2)
    _stopped_as_soon_as(lambda: holder(out), run)
    for words in (slow.train(out), ("train", tmp_path / "nothing", "--vocab-size", 300, "-o", out)):
        refused = bpefleet(*map(str, words), "--workers", 0, timeout=120)
        assert refused.returncode == 4
        assert f"{out} is in use by process {run.pid}" in refused.stderr
    run.send(signal.SIGCONT)
    run.succeeds()
    slow.check(out)


@pytest.mark.slow
def test_two_runs_of_the_same_name_at_once(many: Task, launch: Launcher, tmp_path: Path) -> None:
    for number in range(5):
        out = tmp_path / f"run-{number}"
        runs = [launch(*many.train(out), "--workers", 0) for _ in range(2)]
        codes = sorted(run.wait() for run in runs)
        assert codes == [0, 4], [run.said for run in runs]
        assert all("Traceback" not in run.said for run in runs)
        many.check(out)


def test_nothing_is_left_of_a_run_that_cannot_start(launch: Launcher, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for out in (tmp_path / "a" / "b", there):
        run = launch("train", tmp_path / "nothing", "--vocab-size", 300, "-o", out)
        assert run.wait() == 3
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "there"}
    assert list(there.iterdir()) == []


def test_cancel_and_retry_of_a_finished_run(many: Task, launch: Launcher, out: Path) -> None:
    launch(*many.train(out), "--workers", 0).succeeds()
    cancelled = bpefleet("cancel", out, timeout=120)
    assert cancelled.returncode == 0
    assert cancelled.stdout == f"{out} is finished\n"
    for chunks in ((), (0,)):
        retried = bpefleet("retry", out, *chunks, timeout=120)
        assert retried.returncode == 4
        assert f"{out} is finished" in retried.stderr
        assert "resume" not in retried.stderr


def test_retry_of_a_chunk_that_there_is_not(slow: Task, launch: Launcher, out: Path) -> None:
    run = launch(*slow.train(out), "--workers", 1)
    eventually(lambda: counted(out) > 1)
    for chunk, why in ((99, "there is no chunk 99"), (0, f"no chunk of {out} has failed")):
        refused = bpefleet("retry", out, chunk, timeout=120)
        assert refused.returncode == 2
        assert why in refused.stderr
    assert not (out / RETRY_FILE).exists()
    run.kill()
