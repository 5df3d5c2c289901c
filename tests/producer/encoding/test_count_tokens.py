"""Tokens are counted by tokenizer, file and document, and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from pyarrow import parquet

from bpefleet import BpefleetError, open_tokens, train
from bpefleet.producer.api.token_counts import count_tokens
from tests.command import bpefleet
from tests.producer.encoding.conftest import EOS

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet import Tokenizer
    from tests.producer.encoding.conftest import Mixed


def _expected(mixed: Mixed, tokenizer: Tokenizer) -> list[list[int]]:
    """Tokens of each document of the three files; the first two are one each."""
    encode = tokenizer.to_tiktoken().encode
    each = [len(encode(text, allowed_special="all")) for text in mixed.documents]
    # The second file has no separator at its end, and in a record none is written.
    return [[sum(each[:10])], [sum(each[10:20]) - 1], [one - 1 for one in each[20:]]]


@pytest.mark.parametrize(
    ("workers", "chunk_size"), [(0, 1000), (0, None), pytest.param(2, 5000, marks=pytest.mark.slow)]
)
def test_by_tokenizer_file_and_document(  # noqa: PLR0917
    workers: int,
    chunk_size: int | None,
    mixed: Mixed,
    corpus: Path,
    trained: Path,
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    other = train(corpus, vocab_size=300, out=tmp_path / "other", workers=0)
    found = count_tokens(
        mixed.sources,
        tokenizers=[trained, tmp_path / "other"],
        per_document=tmp_path / "documents.parquet",
        workers=workers,
        chunk_size=chunk_size,
    )
    rows: list[dict[str, Any]] = []
    for one, by in zip(found, (tokenizer, other.tokenizer), strict=True):
        expected = _expected(mixed, by)
        assert [file.tokens for file in one.files] == [sum(each) for each in expected]
        assert (one.documents, one.tokens) == (12, sum(map(sum, expected)))
        rows += [
            {"tokenizer": one.tokenizer, "source": str(path), "document": i, "tokens": tokens}
            for path, each in zip(mixed.sources, expected, strict=True)
            for i, tokens in enumerate(each)
        ]
    assert parquet.read_table(tmp_path / "documents.parquet").to_pylist() == rows


def test_the_command_keeps_runs_where_it_is_told(
    mixed: Mixed, trained: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    done = bpefleet(
        *("count-tokens", mixed.sources[0], "-t", trained, "--workers", 0, "-o", runs, "--json")
    )
    assert done.returncode == 0, done.stderr
    (told,) = orjson.loads(done.stdout)
    assert told["tokens"] == _expected(mixed, tokenizer)[0][0]
    assert told["tokens"] == len(tokenizer.encode(mixed.sources[0].read_text()))
    assert EOS in mixed.sources[0].read_text()
    with pytest.raises(BpefleetError, match="counted, and not kept"):
        open_tokens(runs / "0")


def test_other_workers_need_a_folder_that_they_see(mixed: Mixed, trained: Path) -> None:
    with pytest.raises(BpefleetError, match="must see where they write"):
        count_tokens(mixed.sources, tokenizers=[trained], redis="redis://127.0.0.1:1/0")


def test_by_source_of_a_mixture(
    mixed: Mixed, trained: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus.toml"
    corpus.write_text(
        f'[web]\npaths = ["{mixed.sources[0]}", "{mixed.sources[1]}"]\n'
        f'[notes]\npaths = "{mixed.sources[2]}"\n'
    )
    done = bpefleet("count-tokens", corpus, "-t", trained, "--workers", 0)
    assert done.returncode == 0, done.stderr
    first, second, third = (sum(each) for each in _expected(mixed, tokenizer))
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert lines == [[f"{first + second:,}", "web"], [f"{third:,}", "notes"]]


def test_what_is_read_once_has_one_tokenizer(mixed: Mixed, trained: Path) -> None:
    texts = [text.removesuffix(EOS) for text in mixed.documents[20:]]
    with pytest.raises(BpefleetError, match="there are several tokenizers"):
        count_tokens(documents=iter(texts), tokenizers=[trained, trained])
    (found,) = count_tokens(documents=iter(texts), tokenizers=[trained], workers=0)
    assert (found.documents, [file.path for file in found.files]) == (10, ["-"])
