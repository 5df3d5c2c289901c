"""A run on a table of counts makes the tokenizer of the run that wrote them."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bpefleet import merge, train
from bpefleet.kernel.segments import count_segments
from bpefleet.producer.counts.counts_table import counts_of, write_counts
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.planning.split import split
from bpefleet.producer.reports.write import write_report
from bpefleet.shared.corpus.bounds import can_hold
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.errors import BpefleetError, SourceError, UsageError
from bpefleet.shared.pretokens.bytelevel import spell
from tests.command import bpefleet
from tests.logged import logged

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "the cat\tsat on the mat\r\n\n é🙂 naïve the\x00 then<|end|>there " * 20
PATTERN = "gpt2"
SPECIAL = ("<|end|>", "<|doc|>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, and its counts as a table of each kind."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "text.txt").write_bytes(TEXT.encode())
    train(
        folder / "text.txt",
        vocab_size=270,
        out=folder / "run",
        pattern=PATTERN,
        special_tokens=SPECIAL,
        workers=0,
    )
    write_counts(folder / "run", folder / "counts.parquet")
    write_counts(folder / "run", folder / "counts.tsv")
    (folder / "counts.tsv.gz").write_bytes(gzip.compress((folder / "counts.tsv").read_bytes()))
    return folder


def made(folder: Path) -> dict[str, bytes]:
    """The files of a tokenizer."""
    names = ("tokenizer.json", "merges.txt", "vocab.json", "tokenizer.tiktoken")
    return {name: (folder / name).read_bytes() for name in names}


def table(path: Path, pretokens: Any, counts: Any) -> Path:
    parquet.write_table(pa.table({"pretoken": pretokens, "count": counts}), path)
    return path


@pytest.mark.parametrize("name", ["counts.parquet", "counts.tsv", "counts.tsv.gz"])
@pytest.mark.parametrize("chunk_size", [None, 1000])
def test_the_tokenizer_is_that_of_the_run_that_wrote_them(
    folder: Path, tmp_path: Path, name: str, chunk_size: int | None
) -> None:
    told: dict[str, Any] = (
        {} if name == "counts.parquet" else {"pattern": PATTERN, "special_tokens": SPECIAL}
    )
    train(
        from_counts=folder / name,
        vocab_size=270,
        out=tmp_path / "run",
        workers=0,
        chunk_size=chunk_size,
        **told,
    )
    assert made(tmp_path / "run") == made(folder / "run")
    assert counts_of(tmp_path / "run") == counts_of(folder / "run")


def test_merging_again_and_limits_go_on_from_there(folder: Path, tmp_path: Path) -> None:
    more: dict[str, Any] = {"min_frequency": 21, "tie_break": "hf", "allow_fewer_merges": True}
    train(from_counts=folder / "counts.parquet", vocab_size=262, out=tmp_path / "a", workers=0)
    merge(tmp_path / "a", out=tmp_path / "b", vocab_size=275, **more)
    merge(folder / "run", out=tmp_path / "c", vocab_size=275, **more)
    assert made(tmp_path / "b") == made(tmp_path / "c")


def test_the_command_trains_on_them_with_workers(folder: Path, tmp_path: Path) -> None:
    done = bpefleet(
        "train", "--from-counts", folder / "counts.parquet", "--vocab-size", 270, "--workers", 1,
        "-o", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert made(tmp_path / "run") == made(folder / "run")


@given(
    pairs=st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.integers(1, 1 << 40))),
    size=st.integers(1, 60),
    group=st.integers(1, 5),
    form=st.sampled_from(["tsv", "parquet"]),
)
def test_any_pairs_add_up_in_any_chunks(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[bytes, int]],
    size: int,
    group: int,
    form: str,
) -> None:
    pairs = [*pairs, (b"end", 1)]
    path = tmp_path_factory.mktemp("pairs") / "counts"
    if form == "tsv":
        path.write_text("".join(f"{spell(token)}\t{count}\n\n" for token, count in pairs), "utf-8")
    else:
        tokens, numbers = zip(*pairs, strict=True)
        columns: dict[str, Any] = {"count": numbers, "more": numbers, "pretoken": tokens}
        parquet.write_table(pa.table(columns), path, row_group_size=group)
    options = Options(vocab_size=300, pattern=PATTERN)
    files = find_files([path], asked="counts")
    plan = Plan.make(options, files, list(split(files, None, size))).checked()  # type: ignore[arg-type]
    found: dict[bytes, int] = {}
    text = 0
    for chunk in range(len(plan.chunks)):
        spec = plan.spec(chunk)
        counts, tally = count_spec(spec, count_segments)
        assert can_hold(spec, tally.bytes_read, tally.records)
        text += tally.bytes_read
        for token, count in counts.items():
            found[token] = found.get(token, 0) + count
    expected: dict[bytes, int] = {}
    for token, count in pairs:
        expected[token] = expected.get(token, 0) + count
    assert found == expected
    assert text == sum(len(token) * count for token, count in pairs)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("b\t-1", "has '-1' for a count"),
        ("b\t0", "has '0' for a count"),
        ("b\t1.5", "has '1.5' for a count"),
        ("b\t1e3", "for a count"),
        ("b\t", "has '' for a count"),
        ("b\t" + "9" * 5000, "for a count"),
        ("b\t²", "for a count"),
        ("b\t18446744073709551616", "more than 1,125,899,906,842,624 bytes"),
        ("b", "is no pre-token, a tab and its count"),
        ("\t5", "is no pre-token"),
        ("the cat\t5", "has ' ' in a pre-token"),
        ("b\xad\t5", r"has '\\xad' in a pre-token"),
    ],
)
def test_a_line_that_is_no_count_is_told(tmp_path: Path, line: str, wrong: str) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text(f"a\t5\n{line}\nc\t1\n", "utf-8")
    with pytest.raises(SourceError, match=f"line 2 of {path} .*{wrong}"):
        train(from_counts=path, vocab_size=258, out=tmp_path / "run", workers=0)


def test_lines_that_are_not_utf_8_are_told(tmp_path: Path) -> None:
    (tmp_path / "counts").write_bytes(b"a\t5\n\xff\t5\n")
    with pytest.raises(SourceError, match=r"line 2 of .* is not UTF-8"):
        train(from_counts=tmp_path / "counts", vocab_size=258, out=tmp_path / "run", workers=0)


@pytest.mark.parametrize(
    ("pretokens", "counts", "wrong"),
    [
        (["a", "b"], [5, -1], "row 1 of .* has -1 for a count"),
        (["a", "b"], [5, 0], "row 1 of .* has 0 for a count"),
        (["a", "b"], [5, None], "row 1 of .* has None for a count"),
        (["a", None], [5, 5], "row 1 of .* has no pre-token"),
        (["a", ""], [5, 5], "row 1 of .* has no pre-token"),
        (
            ["a", "b"],
            lambda: pa.array([5, (1 << 64) - 1], pa.uint64()),
            "more than 1,125,899,906,842,624",
        ),
    ],
)
def test_a_row_that_is_no_count_is_told(
    tmp_path: Path, pretokens: Any, counts: Any, wrong: str
) -> None:
    counts = counts() if callable(counts) else counts
    path = table(tmp_path / "counts.parquet", pretokens, counts)
    with pytest.raises(SourceError, match=wrong):
        train(from_counts=path, vocab_size=258, out=tmp_path / "run", workers=0)


@pytest.mark.parametrize(
    ("pretokens", "counts", "wrong"),
    [
        (["a"], [1.5], "the column count of whole numbers holds double"),
        (["a"], ["1"], "the column count of whole numbers holds string"),
        ([1], [1], "the column pretoken of bytes or text holds int64"),
    ],
)
def test_columns_that_hold_something_else_are_told(
    tmp_path: Path, pretokens: Any, counts: Any, wrong: str
) -> None:
    path = table(tmp_path / "counts.parquet", pretokens, counts)
    with pytest.raises(SourceError, match=wrong):
        train(from_counts=path, vocab_size=258, out=tmp_path / "run", workers=0)


def test_tables_of_others_are_read_as_options_say(tmp_path: Path) -> None:
    path = table(tmp_path / "theirs.parquet", ["ab", " ab"], pa.array([5, 3], pa.int32()))
    with logged() as warnings:
        train(from_counts=path, vocab_size=258, out=tmp_path / "run", workers=0)
    assert "does not say how its pre-tokens were split: cl100k is taken" in "".join(warnings)
    with logged() as warnings:
        train(from_counts=path, vocab_size=258, out=tmp_path / "other", workers=0, pattern="gpt2")
    assert warnings == []
    assert counts_of(tmp_path / "run") == [(b"ab", 5), (b" ab", 3)]


def test_a_contradiction_is_told(folder: Path, tmp_path: Path) -> None:
    path, out = folder / "counts.parquet", tmp_path / "run"
    more: dict[str, Any] = {"vocab_size": 270, "out": out, "workers": 0}
    with pytest.raises(UsageError, match=r"the pattern is o200k, and .* was split by gpt2"):
        train(from_counts=path, pattern="o200k", **more)
    with pytest.raises(UsageError, match=r"the special tokens are <\|end\|>, and .* with <\|end"):
        train(from_counts=path, special_tokens=["<|end|>"], **more)
    with pytest.raises(UsageError, match="and sources, documents or a format as well"):
        train(folder / "text.txt", from_counts=path, **more)
    with pytest.raises(UsageError, match="from_counts is of type int"):
        train(from_counts=5, **more)  # type: ignore[arg-type]
    with pytest.raises(SourceError, match="No such file"):
        train(from_counts=tmp_path / "nothing.parquet", **more)
    assert not out.exists()
    train(from_counts=path, special_tokens=SPECIAL[::-1], **more)  # their ids, not the counts


def test_no_other_format_is_a_table_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(99))
    with pytest.raises(BpefleetError, match="a zip archive, which is not read as a table of"):
        train(from_counts=path, vocab_size=270, out=tmp_path / "run", workers=0)


def test_its_report_needs_a_text(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(from_counts=folder / "counts.parquet", vocab_size=270, out=run, workers=0)
    with pytest.raises(UsageError, match="trained on counts, of which there is no text"):
        write_report(run)
    assert write_report(run, held_out=[str(folder / "text.txt")])
