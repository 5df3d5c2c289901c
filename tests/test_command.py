"""A forked command does what one does that is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.command import ALONE, bpefleet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("status", "none", "--json"), ("train", "text", "--vocab-size", "x")],
)
def test_it_says_the_same_and_ends_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    forked = bpefleet(*arguments, cwd=tmp_path)
    monkeypatch.setenv(ALONE, "1")
    started = bpefleet(*arguments, cwd=tmp_path)
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr == started.stderr


def test_its_folder_and_its_variables_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low lower lowest " * 30)
    variables = {**os.environ, "BPEFLEET_VOCAB_SIZE": "260", "BPEFLEET_WORKERS": "0"}
    done = bpefleet("train", "text", "-o", "run", cwd=tmp_path, env=variables)
    assert done.returncode == 0, done.stderr
    assert "run: 260 tokens" in done.stdout
    again = bpefleet("train", "text", "-o", "more", cwd=tmp_path)
    assert "--vocab-size" in again.stderr  # the variables went with the one before
