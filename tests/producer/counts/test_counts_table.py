"""A run's counts written down: they are the naive reference's, in a set order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.errors import ExitCode
from bpefleet.shared.pretokens.bytelevel import unspell
from tests import naive
from tests.command import bpefleet
from tests.patterns import PATTERNS

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "a\tb a\n\nthe the é\x00 naïve the\r\n" * 3
COUNTS = sorted(naive.count(TEXT, PATTERNS["cl100k"], ()).items(), key=lambda e: (-e[1], e[0]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counts")
    (folder / "text.txt").write_bytes(TEXT.encode())
    done = bpefleet(
        "train", folder / "text.txt", "-o", folder / "run", "--vocab-size", 262, "--workers", 0,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "run"


def read(lines: str) -> list[tuple[bytes, int]]:
    pairs = [line.split("\t") for line in lines.removesuffix("\n").split("\n")]
    return [(unspell(token), int(count)) for token, count in pairs]


def test_they_are_printed_the_most_frequent_first(run: Path) -> None:
    assert read(bpefleet("counts", run).stdout) == COUNTS


def test_they_are_written_as_lines(run: Path, tmp_path: Path) -> None:
    done = bpefleet("counts", run, "-o", tmp_path / "counts.tsv")
    assert done.stdout == f"{tmp_path}/counts.tsv: {len(COUNTS)} pre-tokens\n"
    assert read((tmp_path / "counts.tsv").read_text("utf-8")) == COUNTS


def test_they_are_written_as_parquet(run: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert bpefleet("counts", run, "-o", tmp_path / "counts.parquet").returncode == 0
    table = parquet.read_table(tmp_path / "counts.parquet").to_pydict()
    assert [*zip(table["pretoken"], table["count"], strict=True)] == COUNTS


def test_what_is_not_counted_to_its_end_is_not_written(run: Path, tmp_path: Path) -> None:
    for part in (run / "counts").iterdir():
        part.rename(tmp_path / part.name)
    done = bpefleet("counts", run)
    assert (done.returncode, done.stdout) == (ExitCode.CHUNKS_FAILED, "")
    assert "1 of 1 chunks" in done.stderr
    assert "bpefleet resume" in done.stderr
