"""Any chunking covers the corpus exactly and changes no pre-token."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bpefleet.kernel import CUT_RULES, Cutter
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.split import MAX_SEGMENTS, split
from bpefleet.shared.errors import SourceError
from bpefleet.shared.pretokens.patterns import PATTERNS, resolve
from tests.examples import tried_with
from tests.logged import logged
from tests.naive import pieces, pretokens
from tests.speed import slowness

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.shared.wire.messages import Segment

SPECIALS = ("<|end|>", "<|end|><|end|>", "a <b")


def counted(text: str, pattern: str, specials: tuple[str, ...]) -> Counter[str]:
    splits = PATTERNS[pattern].splits
    return Counter(t for piece in pieces(text, specials) for t in pretokens(piece, splits))


def source(path: Path, text: bytes) -> SourceFile:
    path.write_bytes(text)
    return SourceFile(str(path), len(text), 0)


def expected(path: Path, format_: str, data: bytes | None = None) -> SourceFile:
    """A file as it is planned, of a format that is not told by the text."""
    if data is not None:
        path.write_bytes(data)
    (file,) = find_files([path], asked=format_.partition("+")[0])
    return file


def chunks_of(
    files: list[SourceFile], pattern: str, size: int, specials: tuple[str, ...] = SPECIALS
) -> tuple[list[tuple[Segment, ...]], list[str]]:
    cutter = Cutter(resolve(pattern).name, specials)
    with logged() as warnings:
        return list(split(files, cutter, size)), warnings


@given(
    texts=st.lists(
        st.lists(st.sampled_from([*SPECIALS, "a <", "b c", "é", " ", "\n"])).map("".join)
    ),
    size=st.integers(1, 40),
    pattern=st.sampled_from(["gpt2", "o200k", "deepseek-v3"]),
)
@tried_with(150)
def test_chunks_cover_the_corpus_and_keep_its_counts(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], size: int, pattern: str
) -> None:
    folder = tmp_path_factory.mktemp("split")
    files = [source(folder / str(i), text.encode()) for i, text in enumerate(texts) if text]
    chunks, _ = chunks_of(files, pattern, size)
    total: Counter[str] = Counter()
    read: dict[str, str] = {}
    for segment in (segment for chunk in chunks for segment in chunk):
        with open(segment.path, "rb") as file:  # noqa: PTH123
            part = file.read()[segment.start : segment.end].decode()
        read[segment.path] = read.get(segment.path, "") + part
        total += counted(part, pattern, SPECIALS)
    assert list(read.values()) == [text for text in texts if text]
    assert total == sum((counted(t, pattern, SPECIALS) for t in texts), Counter())


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=60),
    size=st.integers(1, 3000),
    end=st.sampled_from(["", "\n"]),
)
@tried_with(80)
def test_json_lines_are_cut_after_a_line(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], size: int, end: str
) -> None:
    data = "\n".join(json.dumps({"text": "x" * n}) for n in lengths).encode() + end.encode()
    file = expected(tmp_path_factory.mktemp("split") / "a.jsonl", "jsonl", data)
    chunks, _ = chunks_of([file], "gpt2", size)
    segments = [segment for chunk in chunks for segment in chunk]
    assert b"".join(data[s.start : s.end] for s in segments) == data
    assert all(s.format == "jsonl" for s in segments)
    assert all(data[: s.end].endswith(b"\n") for s in segments[:-1])


def test_json_lines_are_equal_parts_of_text(tmp_path: Path) -> None:
    """Of text, not of bytes: in one of the files half is no text."""
    text = "word " * 100
    lean = expected(
        tmp_path / "a.jsonl", "jsonl", (json.dumps({"text": text}) + "\n").encode() * 400
    )
    other = json.dumps({"id": "x" * 500, "text": text}) + "\n"
    half = expected(tmp_path / "b.jsonl", "jsonl", other.encode() * 400)
    chunks, said = chunks_of([lean, half], "gpt2", 100_000)
    assert len(chunks) == 4
    assert said == []
    (_, _, third, fourth) = (sum(s.end - s.start for s in chunk) for chunk in chunks)
    assert 0.9 < third / fourth < 1.1
    assert third > 1.8 * sum(s.end - s.start for s in chunks[0])


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@given(rows=st.integers(1, 300), group=st.integers(1, 120), size=st.integers(1, 4000))
@tried_with(40)
def test_tables_are_cut_between_rows(
    tmp_path_factory: pytest.TempPathFactory, kind: str, rows: int, group: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("split") / "a"
    write_table(path, ["word " * (i % 7) for i in range(rows)], kind, group)
    file = expected(path, "parquet" if kind == "parquet" else "arrow")
    assert file.rows == rows
    chunks, _ = chunks_of([file], "gpt2", size)
    segments = [segment for chunk in chunks for segment in chunk]
    assert [s.start for s in segments] == [0, *(s.end for s in segments[:-1])]
    assert segments[-1].end == rows
    assert all(s.start < s.end for s in segments)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_a_row_group_s_end_that_is_near_is_where_a_table_is_cut(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    write_table(path, ["word " * 100] * 1000, kind, 247)
    chunks, said = chunks_of([expected(path, kind.replace("stream", "arrow"))], "gpt2", 125_000)
    assert [(s.start, s.end) for chunk in chunks for s in chunk] == [
        (0, 247),
        (247, 494),
        (494, 741),
        (741, 1000),
    ]
    assert said == []


def test_compressed_files_stay_whole_and_the_long_ones_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [
        expected(tmp_path / f"{i}.txt.gz", "text+gzip", gzip.compress(b"some words " * 10_000))
        for i in range(3)
    ]
    chunks, said = chunks_of(files, "gpt2", 20_000)
    assert [[(s.start, s.end) for s in chunk] for chunk in chunks] == [
        [(0, file.size)] for file in files
    ]
    assert said == []  # none is so long that it matters
    monkeypatch.setattr("bpefleet.producer.planning.split.SMALL_FILE", 1000)
    _, said = chunks_of(files, "gpt2", 20_000)
    assert len(said) == 1
    assert "3 parts of compressed files are longer than a chunk of 20,000 bytes of text" in said[0]
    assert "some 110,000 bytes" in said[0]


def test_small_compressed_files_share_a_chunk(tmp_path: Path) -> None:
    files = [
        expected(tmp_path / f"{i}.gz", "text+gzip", gzip.compress(b"some words " * 100))
        for i in range(40)
    ]
    chunks, said = chunks_of(files, "gpt2", 11_000)
    assert [len(chunk) for chunk in chunks] == [10] * 4
    assert said == []


def write_table(path: Path, texts: list[str], kind: str, group: int) -> None:
    table = pa.table({"id": range(len(texts)), "text": texts})
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=group)
        return
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with make(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=group)


def test_small_files_share_a_chunk_and_large_ones_are_cut(tmp_path: Path) -> None:
    files = [source(tmp_path / f"{i}", b"word " * 10) for i in range(8)]
    files.append(source(tmp_path / "large", b"word " * 200))
    chunks, warnings = chunks_of(files, "gpt2", 200)
    assert [len(chunk) for chunk in chunks[:2]] == [4, 4]
    large = [segment for chunk in chunks[2:] for segment in chunk]
    assert len(large) == 5
    assert (large[0].start, large[-1].end) == (0, 1000)
    assert warnings == []


def test_chunks_are_equal_whatever_the_files(tmp_path: Path) -> None:
    """So that two workers end together: a hundred and three hundred are twice two hundred."""
    one = source(tmp_path / "one", b"word " * 2000)
    three = source(tmp_path / "three", b"word " * 6000)
    for files in ([one, three], [three, one], [one] * 4):
        chunks, _ = chunks_of(files, "gpt2", 20_000)
        sizes = [sum(s.end - s.start for s in chunk) for chunk in chunks]
        assert len(sizes) == 2
        assert max(sizes) - min(sizes) <= 10


def test_no_file_is_cut_near_its_end(tmp_path: Path) -> None:
    files = [source(tmp_path / str(i), b"word " * n) for i, n in enumerate((1950, 2000, 2050))]
    chunks, _ = chunks_of(files, "gpt2", 10_000)
    assert [[(s.start, s.end) for s in chunk] for chunk in chunks] == [
        [(0, file.size)] for file in files
    ]


def test_a_document_that_cannot_be_cut_is_one_chunk_with_a_warning(tmp_path: Path) -> None:
    files = [source(tmp_path / "dna", b"acgt" * 100_000 + b"<|end|>tail")]
    chunks, warnings = chunks_of(files, "gpt2", 1000)
    assert [(s.start, s.end) for chunk in chunks for s in chunk] == [
        (0, 400_000),
        (400_000, 400_011),
    ]
    assert len(warnings) == 1
    assert "400,000 bytes from byte 0" in warnings[0]


@pytest.mark.parametrize("pattern", CUT_RULES)
@pytest.mark.parametrize(
    "text",
    [
        "天地玄黃宇宙洪荒\n",
        "天地玄黃，宇宙洪荒。",
        "いろはにほへと、散りぬるを。",
        "イロハニホヘト\n",
    ],
    ids=["Chinese lines", "Chinese", "Japanese", "kana lines"],
)
def test_text_without_spaces_divides(tmp_path: Path, text: str, pattern: str) -> None:
    file = source(tmp_path / "text", text.encode() * 1000)
    chunks, warnings = chunks_of([file], pattern, -(-file.size // 10))
    assert len(chunks) == 10
    assert warnings == []


def test_an_unknown_regex_is_cut_at_special_tokens_only(tmp_path: Path) -> None:
    files = [source(tmp_path / "text", b"some words " * 50 + b"<|end|>" + b"more words " * 50)]
    chunks, _ = chunks_of(files, r"\w+|\s+", 100)
    assert [(s.start, s.end) for chunk in chunks for s in chunk] == [(0, 550), (550, 1107)]


def test_a_stretch_without_a_cut_is_looked_through_quickly(tmp_path: Path) -> None:
    """A gigabyte in a second or two, as in a file of holes: a slow search takes half a minute."""
    path = tmp_path / "holes"
    path.write_bytes(b"some words")
    os.truncate(path, 1 << 30)
    file = SourceFile(str(path), 1 << 30, 0)
    start = time.process_time()
    chunks, _ = chunks_of([file], "cl100k", 1 << 28, ("<|end|>", "[PAD]"))
    assert time.process_time() - start < 5 * slowness()
    assert [(s.start, s.end) for chunk in chunks for s in chunk] == [(0, 1 << 30)]


def test_a_fifo_in_a_file_s_place_is_not_waited_for(tmp_path: Path) -> None:
    file = source(tmp_path / "text", b"word " * 1000)
    (tmp_path / "text").unlink()
    os.mkfifo(tmp_path / "text")
    with pytest.raises(SourceError, match="Not a regular file"):
        chunks_of([file], "gpt2", 1000)


def test_very_many_tiny_files_make_jobs_of_bounded_size(tmp_path: Path) -> None:
    file = source(tmp_path / "tiny", b"x")
    chunks, _ = chunks_of([file] * (MAX_SEGMENTS + 1), "gpt2", 1 << 20)
    assert [len(chunk) for chunk in chunks] == [MAX_SEGMENTS, 1]
