"""How much text files are expected to hold, and what is said of tables that hold none."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import random
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.shared.errors import DamagedSourceError, SourceError
from tests.examples import tried_with
from tests.logged import logged

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.producer.planning.columns.source_file import SourceFile

_RANDOM = random.Random(1)
WORDS = ["".join(_RANDOM.choices("etaoinshrdlu", k=_RANDOM.randint(1, 9))) for _ in range(2000)]
TEXTS = [" ".join(_RANDOM.choices(WORDS, k=150)) for _ in range(800)] * 5
TEXT = sum(len(text) for text in TEXTS)
RECORDS = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(TEXTS))


def look(path: Path, field: str = "text") -> SourceFile:
    (file,) = find_files([path], text_field=field)
    return file


def test_plain_text_is_all_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some text")
    file = look(path)
    assert (file.format, file.extent, file.text) == ("text", 9, 9)


@pytest.mark.parametrize("compress", [None, gzip.compress, partial(lzma.compress, preset=0)])
def test_records_and_compressed_text_are_sampled(tmp_path: Path, compress: object) -> None:
    for name, data in (("a.jsonl", RECORDS), ("a.txt", "\n".join(TEXTS))):
        path = tmp_path / name
        path.write_bytes(compress(data.encode()) if callable(compress) else data.encode())
        file = look(path)
        assert file.extent == file.size == path.stat().st_size
        assert file.text == pytest.approx(TEXT, rel=0.05)


def test_nested_records_are_sampled_by_their_field(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"meta": {"text": text}, "text": "other"}) for text in TEXTS]
    path.write_text("\n".join(lines))
    assert look(path, "meta.text").text == pytest.approx(TEXT, rel=0.05)
    assert look(path).text == pytest.approx(5 * len(TEXTS), rel=0.05)


@pytest.mark.parametrize("data", [b"{}\n" * 100, b"{broken\n" * 10, b"{" * 3_000_000])
def test_records_without_text_in_the_sample_may_have_some_later(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert look(path).text == len(data)


def write(path: Path, table: pa.Table, kind: str) -> None:
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=1500)
    elif kind == "parquet without dictionary":
        parquet.write_table(table, path, use_dictionary=False, compression="zstd")
    elif kind == "feather":
        feather.write_feather(table, path, chunksize=900)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)


KINDS = ["parquet", "parquet without dictionary", "feather", "stream"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.binary()])
def test_tables_tell_rows_and_text(tmp_path: Path, kind: str, type_: pa.DataType) -> None:
    column = pa.array(TEXTS).cast(type_)
    write(tmp_path / "a", pa.table({"id": range(4000), "text": column}), kind)
    file = look(tmp_path / "a")
    assert file.extent == file.rows == 4000
    assert file.text == pytest.approx(TEXT, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_values_count_as_often_as_they_occur(tmp_path: Path, kind: str) -> None:
    """A dictionary holds them once: the column's size in the file is far too small."""
    column = pa.array(TEXTS[:10] * 400)
    write(tmp_path / "a", pa.table({"text": column}), kind)
    text = 400 * sum(len(text) for text in TEXTS[:10])
    assert look(tmp_path / "a").text == pytest.approx(text, rel=0.1)
    if kind != "parquet without dictionary":
        write(tmp_path / "b", pa.table({"text": column.dictionary_encode()}), kind)
        assert look(tmp_path / "b").text == pytest.approx(text, rel=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_may_lie_in_a_struct(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "a", pa.table({"meta": [{"text": text} for text in TEXTS]}), kind)
    assert look(tmp_path / "a", "meta.text").text == pytest.approx(TEXT, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("body", "no column 'body'; its columns: id, text, meta, meta.note"),
        ("id", "the column 'id' is int64; its columns: id, text, meta, meta.note"),
        ("meta", "the column 'meta' is struct<note: string>"),
        ("meta.body", "no column 'meta.body'"),
    ],
)
def test_a_column_that_holds_no_text_is_an_error(
    tmp_path: Path, kind: str, field: str, said: str
) -> None:
    write(tmp_path / "a", pa.table({"id": [1], "text": ["a"], "meta": [{"note": "b"}]}), kind)
    with pytest.raises(SourceError) as caught:
        look(tmp_path / "a", field)
    assert f"{tmp_path / 'a'}: {said}" in str(caught.value)
    assert "--text-field; of text: text, meta.note" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_rows_is_empty(tmp_path: Path, kind: str) -> None:
    write(tmp_path / "a", pa.table({"text": pa.array([], pa.string())}), kind)
    with pytest.raises(SourceError, match="the table has no rows"):
        look(tmp_path / "a")
    (tmp_path / "b.txt").write_text("text")
    with logged() as said:
        (file,) = find_files([tmp_path])
    assert file.format == "text"
    assert f"1 file was passed over (empty or binary): {tmp_path / 'a'}" in said[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_table_that_is_cut_off_is_an_error(tmp_path: Path, kind: str, kept: float) -> None:
    write(tmp_path / "a", pa.table({"text": TEXTS}), kind)
    os.truncate(tmp_path / "a", int((tmp_path / "a").stat().st_size * kept))
    said = (
        "cannot be read: it ends at" if kind == "stream" else "cannot be read: its last bytes are"
    )
    with pytest.raises(DamagedSourceError, match=f"the table is damaged or {said}"):
        look(tmp_path / "a")


@pytest.mark.parametrize("kind", KINDS)
@given(place=st.floats(0, 1), garbage=st.binary(min_size=1, max_size=40))
@tried_with(60)
def test_a_table_with_damage_is_an_error_or_goes_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, kind: str, place: float, garbage: bytes
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a"
    write(path, pa.table({"text": TEXTS[:100], "meta": [{"text": "a"}] * 100}), kind)
    data = path.read_bytes()
    at = 8 + int(place * (len(data) - 8))
    path.write_bytes(data[:at] + garbage + data[at + len(garbage) :])
    for field in ("text", "meta.text"):
        try:
            file = look(path, field)
        except SourceError as error:
            assert str(path) in str(error)  # noqa: PT017  not all damage is seen
        else:
            assert file.rows >= 0


def test_without_pyarrow_the_command_that_installs_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "a", pa.table({"text": TEXTS}), "parquet")
    code = (
        "import sys; sys.modules['pyarrow'] = None\nfrom bpefleet.producer.cli import main; main()"
    )
    words = ["train", tmp_path / "a", "--vocab-size", "300", "-o", tmp_path / "run"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'bpefleet[parquet]'" in done.stderr
    assert not (tmp_path / "run").exists()


def test_of_many_files_the_first_few_are_sampled(tmp_path: Path) -> None:
    """The others are taken to be like them."""
    data = gzip.compress(RECORDS.encode(), 1)
    (tmp_path / "0.jsonl.gz").write_bytes(data)
    for i in range(1, 1000):
        os.link(tmp_path / "0.jsonl.gz", tmp_path / f"{i}.jsonl.gz")
    files = find_files([tmp_path])
    assert [file.text for file in files] == pytest.approx([TEXT] * 1000, rel=0.05)
