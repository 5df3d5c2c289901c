"""kill -9 of a run on a mixture: each source's counts are whole and weighted as they should be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.faults.corpora import SEPARATOR, Task, hundred_chunks
from tests.faults.instants import kill_again_and_again

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.launcher import Launcher

WEIGHTS = ("--weight", "half=5", "--weight", "rest=1/2")


@pytest.fixture
def mixture(tmp_path: Path) -> Task:
    """A hundred chunks of two sources, of one of which a sample is taken."""
    task = hundred_chunks(tmp_path)
    documents = task.path.read_text("utf-8").split(SEPARATOR)
    (tmp_path / "half.txt").write_text(SEPARATOR.join(documents[::2]), "utf-8")
    lines = [json.dumps({"text": text}) for text in documents[1::2]]
    (tmp_path / "rest.jsonl").write_text("\n".join(lines))
    corpus = tmp_path / "corpus.toml"
    corpus.write_text(
        '[half]\npaths = "half.txt"\nweight = 1.5\nsample = 0.8\n[rest]\npaths = "rest.jsonl"\n'
    )
    undisturbed = tmp_path / "whole"
    done = bpefleet("train", corpus, *task.options, "-o", undisturbed, "--workers", 0)
    assert done.returncode == 0, done.stderr
    return replace(task, path=corpus, expected=artifacts(undisturbed))


@pytest.mark.slow
def test_the_producer_at_any_instant(
    mixture: Task, launch: Launcher, out: Path, tmp_path: Path, drawn: random.Random
) -> None:
    kill_again_and_again(mixture, launch, out, drawn)
    for run_, again in ((out, tmp_path / "again"), (tmp_path / "whole", tmp_path / "other")):
        done = bpefleet("merge", run_, *WEIGHTS, "--vocab-size", 1000, "-o", again)
        assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "again") == artifacts(tmp_path / "other")
