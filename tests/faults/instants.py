"""The producer killed at one instant after another, until its run is done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.eventually import eventually
from tests.faults.launcher import counted, history

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher


def kill_again_and_again(task: Task, launch: Launcher, out: Path, drawn: random.Random) -> None:
    """Kill a run with workers of its own three times, let it end, and check what comes of it."""
    kills = 0
    while kills < 3 and not (out / MANIFEST).exists():
        command = ("resume", out) if (out / "plan.json").exists() else task.train(out)
        run = launch(*command, "--workers", 2)
        eventually(partial(_counted, run, out, counted(out) + drawn.randint(1, 20)))
        run.kill()
        kills += 1
    assert kills > 1
    if not (out / MANIFEST).exists():
        launch("resume", out, "--workers", 2).succeeds()
    task.check(out)
    assert {attempt.outcome for attempt in history(out)} == {"counted"}


def _counted(run: Command, out: Path, chunks: int) -> bool:
    return counted(out) >= chunks or run.ended
