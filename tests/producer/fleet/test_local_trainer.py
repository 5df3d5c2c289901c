"""The trainer process is asked, listened to, and never waited for in vain."""

from __future__ import annotations

import os
import shutil
import signal
import time
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.fleet import local_trainer as merge
from bpefleet.producer.fleet.local_trainer import TrainerProcess
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.manifest import Facts
from bpefleet.producer.store.stop import Stop
from bpefleet.producer.training.milestones import Milestones
from bpefleet.producer.training.versions import versions
from bpefleet.shared.errors import InterruptedRunError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import ARTIFACTS, artifacts
from tests.command import bpefleet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(corpus: Path, tmp_path: Path) -> RunDirectory:
    """A run that has its counts, and its artifacts under another name."""
    out = tmp_path / "run"
    done = bpefleet("train", corpus, "-o", out, "--vocab-size", 400, "--workers", 0)
    assert done.returncode == 0, done.stderr
    shutil.copytree(out, tmp_path / "done")
    for name in (*ARTIFACTS, MANIFEST):
        (out / name).unlink()
    return RunDirectory.open(out)


_LONG = "import atexit, time; atexit.register(time.sleep, 600)"


@pytest.mark.parametrize("patience", [60.0, 0.0], ids=["its own doing", "the system's"])
def test_a_trainer_that_takes_long_to_end_spoils_no_finished_run(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """As one with a large memory does, even when it is killed."""
    (tmp_path / "sitecustomize.py").write_text(_LONG)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(merge, "_PATIENCE", patience)
    facts = Facts(versions(run.plan.engine), {}, ())
    with Progress(show=False) as progress:
        with TrainerProcess(run.path) as trainer:
            view = MergingView(StatusFile(run), progress)
            manifest = trainer.train(facts, Milestones(run.plan), view, Stop(run.path))
            begun = time.monotonic()
        assert time.monotonic() - begun < 30
    assert manifest.totals.merges == 143
    assert artifacts(run.path) == artifacts(tmp_path / "done")
    trainer._process.wait()


def test_a_stop_ends_a_trainer_that_says_nothing(run: RunDirectory) -> None:
    stop = Stop(run.path)
    with Progress(show=False) as progress, TrainerProcess(run.path) as trainer:
        os.kill(trainer._process.pid, signal.SIGSTOP)
        stop.request()
        view = MergingView(StatusFile(run), progress)
        with pytest.raises(InterruptedRunError):
            trainer.train(Facts({}, {}, ()), Milestones(run.plan), view, stop)
        assert trainer._process.poll() == -signal.SIGKILL  # nothing writes to the run any more
