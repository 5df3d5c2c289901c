"""Shards hold the ids of the whole corpus in its order, whatever its chunks are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import BpefleetError, encode, merge, open_tokens
from bpefleet.producer.reports.write import write_report

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet import Tokenizer
    from tests.producer.encoding.conftest import Mixed


def shards(folder: Path) -> dict[str, bytes]:
    """What others read: all but what tells of the run."""
    names = ("tokens-*", "index.json", "sources.jsonl")
    return {path.name: path.read_bytes() for name in names for path in folder.glob(name)}


def test_documents_in_order_equal_to_tiktokens(
    mixed: Mixed, trained: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    result = encode(mixed.sources, tokenizer=trained, out=tmp_path / "out", workers=0)
    expected = tokenizer.to_tiktoken()
    each = [expected.encode(text, allowed_special="all") for text in mixed.documents]
    found = open_tokens(tmp_path / "out")
    assert [list(document) for document in found.documents] == each
    assert len(found) == result.index.tokens == sum(map(len, each))
    assert list(found.shards[0].ids) == [number for document in each for number in document]
    files = list(found.sources)
    assert [file.path for file in files] == [str(path) for path in mixed.sources]
    assert [file.documents for file in files] == [10, 10, 10]
    assert [file.tokens for file in files] == [
        sum(map(len, each[at : at + 10])) for at in (0, 10, 20)
    ]
    assert [file.document for file in files] == [0, 10, 20]
    assert not list((tmp_path / "out").glob("pieces/*"))


def test_the_same_bytes_for_any_chunks_and_workers(
    mixed: Mixed, trained: Path, tmp_path: Path
) -> None:
    found = []
    for workers, chunk_size in ((0, None), (0, 1000), (2, 5000)):
        out = tmp_path / f"{workers}-{chunk_size}"
        encode(
            mixed.sources,
            tokenizer=trained,
            out=out,
            shard_size=3000,
            workers=workers,
            chunk_size=chunk_size,
        )
        found.append(shards(out))
    assert len(found[0]) > 6
    assert found[0] == found[1] == found[2]


def test_shards_are_whole_documents_of_the_size_that_was_asked_for(
    mixed: Mixed, trained: Path, tmp_path: Path
) -> None:
    encode(mixed.sources, tokenizer=trained, out=tmp_path / "out", workers=0, shard_size=2000)
    found = open_tokens(tmp_path / "out")
    *full, last = found.shards
    for shard in full:
        before = len(shard) - len(shard.document(shard.documents - 1))
        assert before < 2000 <= len(shard)
    assert len(last) > 0
    assert sum(shard.documents for shard in found.shards) == len(found.documents) == 30


def test_without_a_separator_the_ids_are_those_of_the_files(
    mixed: Mixed, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    sources = mixed.sources[:1]
    encode(sources, tokenizer=tokenizer, out=tmp_path / "out", workers=0, separator="")
    (document,) = open_tokens(tmp_path / "out").documents
    expected = tokenizer.to_tiktoken().encode(sources[0].read_text(), allowed_special="all")
    assert list(document) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"format": "zip"}, "format is 'zip'"),
        ({"dtype": "int8"}, "dtype is 'int8'"),
        ({"separator": "<eos>"}, "no special token"),
        ({"shard_size": -1}, "shard_size is -1"),
    ],
    ids=["format", "dtype", "separator", "shard_size"],
)
def test_what_makes_no_sense_is_told(
    given: dict[str, Any], said: str, mixed: Mixed, trained: Path, tmp_path: Path
) -> None:
    with pytest.raises(BpefleetError, match=said):
        encode(mixed.sources, tokenizer=trained, out=tmp_path / "out", workers=0, **given)
    assert not (tmp_path / "out").exists()


def test_what_only_runs_that_count_have_is_refused(
    mixed: Mixed, trained: Path, tmp_path: Path
) -> None:
    encode(mixed.sources, tokenizer=trained, out=tmp_path / "out", workers=0)
    for call in (
        lambda: merge(tmp_path / "out", out=tmp_path / "merged", vocab_size=500),
        lambda: write_report(tmp_path / "out"),
    ):
        with pytest.raises(BpefleetError, match="is a run that encodes"):
            call()


def test_a_mixture_is_refused(mixed: Mixed, trained: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.toml"
    corpus.write_text(f'[web]\npaths = "{mixed.sources[0]}"\n')
    with pytest.raises(BpefleetError, match="a mixture is not encoded"):
        encode(corpus, tokenizer=trained, out=tmp_path / "out", workers=0)
