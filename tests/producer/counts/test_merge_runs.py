"""Counts of several runs added up: what one run over all their texts would have counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import BpefleetError, RunResult, merge, train
from bpefleet.producer.counts.counts_table import counts_of
from bpefleet.shared.errors import ChunksFailedError, UsageError
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.texts import Text, code, english, multilingual

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 600
TEXTS = (english(), code(), multilingual())


def trained(folder: Path, texts: tuple[Text, ...], name: str, **options: Any) -> RunResult:
    files = []
    for text in texts:
        files.append(folder / f"{text.name}.txt")
        files[-1].write_bytes(text.joined.encode())
    given: dict[str, Any] = {"vocab_size": SIZE, "workers": 0, "chunk_size": 100_000, **options}
    return train(files, out=folder / name, **given)


def test_counts_added_up_are_those_of_one_run(tmp_path: Path) -> None:
    whole = trained(tmp_path, TEXTS, "whole")
    parts = [
        trained(tmp_path, (text,), text.name, vocab_size=300 + i) for i, text in enumerate(TEXTS)
    ]
    added = merge(*(part.directory for part in parts), out=tmp_path / "sum", vocab_size=SIZE)
    assert artifacts(added.directory) == artifacts(whole.directory)
    assert counts_of(added.directory) == counts_of(whole.directory)
    totals = added.manifest["totals"]
    chunks = sum(part.manifest["totals"]["chunks"] for part in parts)
    assert totals == whole.manifest["totals"] | {"chunks": chunks}
    assert added.manifest["sources"] == whole.manifest["sources"]
    again = merge(added.directory, out=tmp_path / "again", vocab_size=300)
    assert all(part.directory.name in again.manifest["counts_of"] for part in parts)


def test_the_command_takes_several_directories(tmp_path: Path) -> None:
    parts = [trained(tmp_path, (text,), text.name).directory for text in TEXTS[:2]]
    done = bpefleet("merge", *parts, "-o", tmp_path / "sum", "--vocab-size", SIZE)
    assert done.returncode == 0, done.stderr
    whole = trained(tmp_path, TEXTS[:2], "whole")
    assert artifacts(tmp_path / "sum") == artifacts(whole.directory)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pattern": "gpt2"}, "pattern: cl100k and gpt2"),
        ({"special_tokens": ["<|end|>"]}, "special tokens: "),
    ],
)
def test_runs_that_split_otherwise_are_refused(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    one = trained(tmp_path, TEXTS[:1], "one").directory
    other = trained(tmp_path, TEXTS[2:], "other", **options).directory
    with pytest.raises(UsageError, match=said):
        merge(one, other, out=tmp_path / "sum", vocab_size=SIZE)
    assert not (tmp_path / "sum").exists()


def test_a_run_is_added_once(tmp_path: Path) -> None:
    one = trained(tmp_path, TEXTS[:1], "one").directory
    with pytest.raises(UsageError, match="named twice"):
        merge(one, one, out=tmp_path / "sum", vocab_size=SIZE)


def test_a_run_that_is_not_counted_is_named(tmp_path: Path) -> None:
    one, other = (trained(tmp_path, (text,), text.name).directory for text in TEXTS[:2])
    next((other / "counts").iterdir()).unlink()
    with pytest.raises(ChunksFailedError, match=str(other)) as refused:
        merge(one, other, out=tmp_path / "sum", vocab_size=SIZE)
    assert isinstance(refused.value, BpefleetError)
