"""Corpus files: what they say, and errors that name the file, the table and the key."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.planning.mixture.corpus_file import read_corpus_file
from bpefleet.shared.errors import SourceError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_corpus_file_says_all_that_a_source_has(tmp_path: Path) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text(
        '[web]\npaths = "web/*.jsonl"\nsample = 0.1\ntext_field = "meta.text"\n'
        '[code]\npaths = ["code", "/data/x.parquet", "s3://b/*.parquet"]\nweight = 1.10\n'
        'text_column = "content"\nformat = "parquet"\nmax_bytes = 10_000\n'
        '[books]\npaths = "b.txt"\nweight = "1/3"\nmax_bytes = "512MiB"\n'
    )
    web, code, books = read_corpus_file(str(path))
    assert (web.name, web.paths) == ("web", (f"{tmp_path}/web/*.jsonl",))
    assert (web.sample, web.text_field, web.weight) == (Fraction(1, 10), "meta.text", Fraction(1))
    assert code.paths == (f"{tmp_path}/code", "/data/x.parquet", "s3://b/*.parquet")
    assert (code.weight, code.format, code.max_bytes) == (Fraction(11, 10), "parquet", 10_000)
    assert (code.text_field, books.weight) == ("content", Fraction(1, 3))
    assert books.max_bytes == 512 << 20


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[web", "is no TOML: "),
        ("\xff[web]", "is no TOML"),
        ("", "has no table"),
        ("weight = 3", "weight is not in a table"),
        ("[web]\nweight = 3", r"\[web\].*missing required field `paths`"),
        ("[web]\npaths = 5", r"\[web\] paths: Expected `str \| array`"),
        ("[web]\npaths = [1]", r"\[web\] paths\[0\]: Expected `str`"),
        ("[web]\npaths = []", r"\[web\] no path"),
        ('[web]\npaths = "a"\nwieght = 3', r"\[web\].*unknown field `wieght`"),
        ('[web]\npaths = "a"\nweight = -1', r"\[web\] weight is -1"),
        ('[web]\npaths = "a"\nweight = nan', r"\[web\] weight is"),
        ('[web]\npaths = "a"\nsample = 0', r"\[web\] sample is 0"),
        ('[web]\npaths = "a"\nsample = 1.5', r"\[web\] sample is 3/2"),
        (
            '[web]\npaths = "a"\nmax_bytes = 1.5',
            r"\[web\] max_bytes: Expected `int \| str",
        ),
        (
            '[web]\npaths = "a"\nmax_bytes = "much"',
            r"max_bytes is 'much', which is no size",
        ),
        ('[web]\npaths = "a"\nmax_bytes = 0', r"\[web\] max_bytes is 0"),
        ('[web]\npaths = "a"\nmax_bytes = 5\nsample = 0.1', r"\[web\] both sample and max_bytes"),
        ('[web]\npaths = "a"\nformat = "csv"', r"\[web\] format is 'csv'"),
        ('[web]\npaths = "a"\ntext_field = "a..b"', r"\[web\] text_field is"),
        ('[web]\npaths = "a"\ntext_field = "a"\ntext_column = "b"', r"\[web\].*are the same"),
        ('["a b"]\npaths = "a"', "a source is called 'a b'"),
        ('[web]\npaths = "a"\nweight = 0', "all weights are 0"),
    ],
    ids=range(22),
)
def test_errors_name_the_file_the_table_and_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "corpus.toml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=f"^{path}.*{said}"):
        read_corpus_file(str(path))


def test_a_corpus_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent\.toml: No such file"):
        read_corpus_file(str(tmp_path / "absent.toml"))
