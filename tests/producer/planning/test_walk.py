"""What runs have written below a source is no part of the corpus."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer import train
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.store.claim import new_run
from bpefleet.shared.errors import SourceError
from tests.command import bpefleet
from tests.logged import logged

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus with a finished run in it."""
    (tmp_path / "deep").mkdir()
    for name in ("a.txt", "deep/b.txt"):
        (tmp_path / name).write_text("hello hello world\n" * 50)
    train(tmp_path, vocab_size=262, out=tmp_path / "deep" / "run", workers=0)
    return tmp_path


def found(source: str | Path, out: Path | None = None) -> tuple[list[str], str]:
    with logged() as said:
        files = find_files([source], out=out)
    return [os.path.basename(file.path) for file in files], "".join(said)  # noqa: PTH119


@pytest.mark.parametrize("below", ["", "/**", "/**/*", "/deep/**", "/d*/**"])
def test_run_directories_are_passed_over_and_named(folder: Path, below: str) -> None:
    names, said = found(f"{folder}{below}")
    assert names[-1] == "b.txt"
    assert set(names) <= {"a.txt", "b.txt"}
    assert f"what runs of bpefleet wrote was passed over: {folder / 'deep' / 'run'}" in said


def test_a_run_directory_itself_is_no_corpus(folder: Path) -> None:
    for source in (folder / "deep" / "run", f"{folder}/deep/run/*.txt"):
        with pytest.raises(SourceError, match="no text file in it"):
            found(source)
    # But a file of it may be named.
    assert found(folder / "deep" / "run" / "merges.txt")[0] == ["merges.txt"]


def test_the_directory_of_the_run_itself_is_passed_over(folder: Path) -> None:
    out = folder / "here"
    out.mkdir()
    (out / "note.txt").write_text("not yet a plan")
    (folder / "link").symlink_to(out)
    assert "note.txt" in found(folder)[0]
    for same in (out, folder / "deep" / ".." / "here", folder / "link"):
        for source in (folder, f"{folder}/**"):
            assert "note.txt" not in found(source, same)[0]


def test_a_run_that_is_still_being_planned_is_passed_over(folder: Path) -> None:
    with new_run(folder / "soon"):
        names, said = found(folder)
        assert sorted(names) == ["a.txt", "b.txt"]
        assert str(folder / "soon") in said
    (folder / "deep" / "lock").write_text("a chapter on locks")
    assert "lock" in found(folder)[0]


def test_a_plan_of_somebody_else_s_is_text(folder: Path) -> None:
    (folder / "deep" / "plan.json").write_text('{"version": 1, "steps": []}')
    assert "plan.json" in found(folder)[0]


def test_a_fifo_for_a_plan_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "plan.json")
    assert "a.txt" in found(folder)[0]


def test_what_is_no_file_and_links_to_folders_are_told(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "gone").symlink_to("nowhere")
    (folder / "round").symlink_to(".")
    names, said = found(folder)
    assert names == ["a.txt", "b.txt"]
    assert f"2 files were passed over (links to nothing, or no files): {folder / 'gone'}, " in said
    assert f"links to folders are not followed: {folder / 'round'}; name them" in said
    # A glob follows no links, and folders that it matches are not meant.
    assert "a.txt" in found(f"{folder}/*")[0]


def test_a_second_run_below_its_corpus_learns_what_the_first_did(folder: Path) -> None:
    first = folder / "deep" / "run"
    second = bpefleet(
        "train", folder, "--vocab-size", 262, "-o", folder / "second", "--workers", 0
    )  # fmt: skip
    assert second.returncode == 0, second.stderr
    assert f"passed over: {first}" in second.stderr
    read = [(path / "merges.txt").read_bytes() for path in (first, folder / "second")]
    assert read[0] == read[1]
