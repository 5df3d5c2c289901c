"""Sources that change while they are counted."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.errors import ExitCode
from tests.eventually import eventually
from tests.faults.launcher import counted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Launcher


@pytest.fixture
def task(slow: Task, tmp_path: Path) -> Task:
    """Slow chunks in a file that the test may change."""
    path = tmp_path / "changing.txt"
    shutil.copy2(slow.path, path)
    return replace(slow, path=path)


def _restore(task: Task, before: os.stat_result, text: bytes) -> None:
    task.path.write_bytes(text)
    os.utime(task.path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.slow
def test_a_truncated_source(task: Task, launch: Launcher, out: Path) -> None:
    text, before = task.path.read_bytes(), task.path.stat()
    run = launch(*task.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 4)
    os.truncate(task.path, len(text) // 2)
    assert run.wait() == 3, run.said
    assert f"{task.path} has changed" in run.said or f"{task.path} ends at byte" in run.said
    assert "Traceback" not in run.said
    done = counted(out)
    assert done > 4
    refused = launch("resume", out)
    assert refused.wait() == 3
    assert f"{task.path} has changed since the run was planned" in refused.said
    _restore(task, before, text)
    launch("resume", out).succeeds()
    task.check(out)
    assert counted(out) > done


@pytest.mark.slow
def test_a_changed_source(task: Task, launch: Launcher, out: Path) -> None:
    text, before = task.path.read_bytes(), task.path.stat()
    run = launch(*task.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 4)
    task.path.write_bytes(text.swapcase())
    assert run.wait() == 3, run.said
    assert f"{task.path} has changed since the run was planned" in run.said
    # The old text is back, with its old time: what was counted of the other must not be in it.
    _restore(task, before, text)
    launch("resume", out).succeeds()
    task.check(out)


@pytest.mark.slow
def test_a_source_that_vanished(task: Task, launch: Launcher, out: Path) -> None:
    away = task.path.with_name("away.txt")
    run = launch(*task.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 4)
    task.path.rename(away)
    assert run.wait() == 3, run.said
    assert f"cannot read {task.path}: No such file or directory" in run.said
    away.rename(task.path)
    launch("resume", out).succeeds()
    task.check(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "workers", "said"),
    [
        ("fifo", 2, "cannot read {path}: Not a regular file"),
        ("link", 2, "'{path}' is outside this worker's corpus roots"),
        ("link", 0, "'{path}' leads out of the corpus roots by now"),
    ],
)
def test_something_else_in_a_source_s_place(
    task: Task,
    launch: Launcher,
    out: Path,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    kind: str,
    workers: int,
    said: str,
) -> None:
    """A FIFO would have each attempt wait for its writer; a link leads where nobody allowed."""
    away = tmp_path_factory.mktemp("elsewhere") / "away.txt"
    run = launch(*task.train(out), "--workers", workers)
    eventually(lambda: counted(out) > 4)
    task.path.rename(away)
    if kind == "fifo":
        os.mkfifo(task.path)
    else:
        task.path.symlink_to(away)
    # The first may be found out when it is folded: the source has changed.
    assert run.wait() in (ExitCode.SOURCE, ExitCode.CHUNKS_FAILED), run.said
    assert said.format(path=task.path) in run.said
    task.path.unlink()
    away.rename(task.path)
    launch("resume", out).succeeds()
    task.check(out)
