"""Shards hold the ids of the whole corpus in its order, whatever its chunks are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import BpefleetError, Source, encode, merge, open_tokens
from bpefleet.producer.reports.write import write_report
from bpefleet.producer.store.ledgers.encoded_ledger import read_encoded
from tests.command import bpefleet
from tests.producer.encoding.conftest import EOS

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet import Tokenizer
    from tests.producer.encoding.conftest import Mixed


def shards(folder: Path) -> dict[str, bytes]:
    """What others read: all but what tells of the run."""
    names = ("tokens-*", "index.json", "sources.jsonl")
    return {path.name: path.read_bytes() for name in names for path in folder.glob(name)}


def chunks_of(folder: Path) -> int:
    """How many chunks a run had."""
    return len(read_encoded(folder, 1 << 20)[0])


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


def test_what_arrives_gives_the_shards_of_its_file(
    mixed: Mixed, trained: Path, tmp_path: Path
) -> None:
    """In parts that end amid documents, only the last of which ends one."""
    text, records = tmp_path / "text", mixed.sources[2]
    text.write_text(EOS.join(mixed.sources[0].read_text().split(EOS)[:-1]))
    for source, options in ((text, ()), (records, ("--source-format", "jsonl"))):
        expected, out = tmp_path / f"{source.name}-file", tmp_path / f"{source.name}-piped"
        encode(source, tokenizer=trained, out=expected, workers=0)
        with source.open("rb") as file:
            done = bpefleet(
                *("encode", "-", "-t", trained, "-o", out, "--workers", 0, "--chunk-size", 4096),
                *options,
                stdin=file,
            )
        assert done.returncode == 0, done.stderr
        assert shards(out).keys() == shards(expected).keys()
        assert [*(each.path for each in open_tokens(out).sources)] == ["-"]
        names = shards(out).keys() - {"sources.jsonl"}
        assert all(shards(out)[name] == shards(expected)[name] for name in names)
        assert chunks_of(out) > 1


def test_documents_are_encoded_as_they_come(mixed: Mixed, trained: Path, tmp_path: Path) -> None:
    texts = [text.removesuffix(EOS) for text in mixed.documents]
    encode(documents=iter(texts), tokenizer=trained, out=tmp_path / "out", workers=0)
    encode(mixed.sources, tokenizer=trained, out=tmp_path / "files", workers=0)
    (ids, expected) = (shards(tmp_path / out)["tokens-00000.bin"] for out in ("out", "files"))
    assert ids == expected


def test_of_a_mixture_each_document_is_taken_once(
    mixed: Mixed, trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = [
        Source("none", mixed.sources[0], weight=0),
        Source("some", mixed.sources[2], sample=0.5),
        Source("all", mixed.sources[1], weight=3),
    ]
    encode(corpus, tokenizer=trained, out=tmp_path / "out", workers=0)
    assert "each document is encoded once" in caplog.text
    found = open_tokens(tmp_path / "out")
    some, every = found.sources
    assert (some.source, every.source) == ("some", "all")
    assert 0 < some.documents < 10
    assert every.documents == 10
    encode(mixed.sources[1], tokenizer=trained, out=tmp_path / "one", workers=0)
    (whole,) = open_tokens(tmp_path / "one").shards
    assert list(found.shards[0].ids[every.token :]) == list(whole.ids)


def test_nothing_may_be_missing(mixed: Mixed, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(BpefleetError, match="nothing may be missing"):
        encode(mixed.sources, tokenizer=trained, out=tmp_path / "out", allow_missing=0.5)
