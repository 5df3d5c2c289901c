"""Where files are written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bpefleet import encode, train
from bpefleet.producer.files.atomic import demand_local
from bpefleet.shared.errors import UsageError


@pytest.mark.parametrize("url", ["s3://bucket/run", "sftp://who@machine/run", "memory://run"])
def test_a_run_is_not_written_to_a_url(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file system would make a folder of the name here."""
    monkeypatch.chdir(tmp_path)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("some text")
    with pytest.raises(UsageError, match="is a URL, and this is written to a path"):
        train(corpus, vocab_size=300, out=url, workers=0)
    train(corpus, vocab_size=300, allow_fewer_merges=True, out="tokenizer", workers=0)
    with pytest.raises(UsageError, match="is a URL, and this is written to a path"):
        encode(corpus, tokenizer="tokenizer", out=url, workers=0)
    assert {each.name for each in tmp_path.iterdir()} == {"corpus.txt", "tokenizer"}


@pytest.mark.parametrize("path", ["run", "a:b/run", "2026-11-23T10:00/run"])
def test_names_with_colons_are_paths(path: str) -> None:
    demand_local(Path(path).absolute())
    demand_local(Path(path))


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Status, jobs and the manifest name the directory."""
    with pytest.raises(UsageError, match="is not UTF-8"):
        train("corpus.txt", vocab_size=300, out=tmp_path / os.fsdecode(b"run\xff"), workers=0)
