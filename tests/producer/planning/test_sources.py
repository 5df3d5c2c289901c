"""Which files sources name, and what is said of those that are no text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.planning.finding import look
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.shared.errors import InterruptedRunError, SourceError
from tests.logged import logged

if TYPE_CHECKING:
    from pathlib import Path


def names(sources: list[str | Path]) -> list[str]:
    return [os.path.basename(file.path) for file in find_files(sources)]  # noqa: PTH119


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("second")
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.txt").write_text("third")
    (tmp_path / ".hidden").write_text("not read")
    (tmp_path / "empty").write_text("")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0")
    return tmp_path


def test_a_folder_is_read_in_order_and_says_what_it_passes_over(corpus: Path) -> None:
    with logged() as said:
        assert names([corpus]) == ["a.txt", "b.txt", "c.txt"]
    assert len(said) == 1
    assert "2 files were passed over" in said[0]
    assert "image.png" in said[0]


def test_globs_and_files_keep_the_order_given_and_count_once(corpus: Path) -> None:
    with logged() as said:
        found = names([corpus / "b.txt", f"{corpus}/*.txt", f"{corpus}/**/c*"])
    assert found == ["b.txt", "a.txt", "c.txt"]
    assert said == ["1 file was named more than once, read once"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "what[1].txt").write_text("text")
    assert names([tmp_path / "what[1].txt"]) == ["what[1].txt"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: [], "no source is given"),
        (lambda p: [p / "missing.txt"], "missing.txt: no such file"),
        (lambda p: [p / "empty"], "empty: the file is empty"),
        (lambda p: [f"{p}/*.csv"], "no file matches"),
        (lambda p: [p / ".hidden" / "x"], "Not a directory|no such file"),
        (lambda _: ["/dev/null"], "not a regular file"),
    ],
)
def test_what_is_wrong_with_a_source_is_said(corpus: Path, make, message: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(SourceError, match=message):
        names(make(corpus))


def test_a_folder_without_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\0")
    with pytest.raises(SourceError, match="no text file in it"):
        names([tmp_path])


def test_an_unreadable_file_is_said(corpus: Path) -> None:
    (corpus / "a.txt").chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)  # root may read anything
        with pytest.raises(SourceError, match=r"a\.txt: Permission denied"):
            names([corpus / "a.txt"])
    finally:
        os.seteuid(user)


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(name, "wb") as file:  # noqa: PTH123  Path takes no bytes
        file.write(b"text")
    with pytest.raises(SourceError, match="the name is not UTF-8"):
        find_files([tmp_path])


@pytest.mark.parametrize("source", [".", "*.txt", "a.txt"])
def test_a_listing_ends_when_somebody_asks(corpus: Path, source: str) -> None:
    def check() -> None:
        raise InterruptedRunError("stopped")

    with pytest.raises(InterruptedRunError):
        find_files([corpus / source], check=check)


def test_a_listing_asks_before_each_file_or_before_some_that_it_looks_at_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "_TOGETHER", 10)
    for number in range(100):
        (tmp_path / f"{number}.txt").write_text("text")
        (tmp_path / f"{number}.jsonl").write_text('{"text": ""}\n')
    asked: list[None] = []
    assert len(find_files([tmp_path], check=lambda: asked.append(None))) == 200
    assert len(asked) >= 20 + 100


@pytest.mark.parametrize("sources", [["deep", "."], [".", "deep"], ["**/**/*.txt"], ["."]])
def test_a_file_that_is_found_in_several_ways_is_read_once(
    tmp_path: Path, sources: list[str]
) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("deep/a.txt", "deep/b.txt"):
        (tmp_path / name).write_text("text")
    (tmp_path / "c.txt").symlink_to("deep/b.txt")
    found = find_files([f"{tmp_path}/{source}" for source in sources])
    assert sorted(file.path for file in found) == [
        str(tmp_path / name) for name in ("deep/a.txt", "deep/b.txt")
    ]
