"""Reading the text column of Parquet and Arrow files."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc, parquet

from bpefleet.kernel.opening import opened_file
from bpefleet.kernel.records import integers
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.corpus.tables.rows import table_fields, table_rows
from bpefleet.shared.errors import SourceChangedError, SourceError, UsageError
from bpefleet.shared.wire.messages import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DOCUMENTS = ["a b\n", None, "", " c  ", "é字\0🙂", "don't " * 5, None] * 100
FORMS = ("parquet", "file", "stream")
TYPES = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
)


def of_type(documents: Sequence[str | None], kind: pa.DataType) -> pa.Array:
    """The documents as an array of a type."""
    plain = pa.array(documents, pa.string())
    return plain.cast(pa.string_view()).cast(kind) if "view" in str(kind) else plain.cast(kind)


def write(table: pa.Table, path: Path, form: str, rows: int = 64) -> Segment:
    """Write a table in groups of rows; all of it as a segment."""
    if form == "parquet":
        parquet.write_table(table, path, row_group_size=rows)
    else:
        new = ipc.new_file if form == "file" else ipc.new_stream
        with new(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    kind = "parquet" if form == "parquet" else "arrow"
    return Segment(str(path), 0, table.num_rows, kind)


def read(segment: Segment, field: str = "text") -> tuple[list[bytes], int, int]:
    """The documents of a segment, the number of its records, and of those without text."""
    found: list[bytes] = []
    records = absent = 0
    with opened_file(segment.path) as file:
        for part in table_rows(file, segment, field.split(".")):
            offsets = integers(part.offsets, part.offset_bytes)
            data = memoryview(part.data)
            found += [
                bytes(data[offsets[i] : offsets[i + 1]]) for i in range(part.records - part.absent)
            ]
            records, absent = records + part.records, absent + part.absent
    return found, records, absent


def _texts(documents: Sequence[str | None]) -> list[bytes]:
    return [document.encode() for document in documents if document is not None]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("nested", [False, True], ids=["column", "field"])
def test_every_type_of_text_is_read(
    tmp_path: Path, form: str, kind: pa.DataType, *, nested: bool
) -> None:
    if nested and form == "parquet" and "view" in str(kind):
        pytest.skip("pyarrow does not write these")
    texts, numbers = of_type(_DOCUMENTS, kind), pa.array(range(len(_DOCUMENTS)))
    table = pa.table({"n": numbers, "text": texts})
    if nested:
        inner = pa.StructArray.from_arrays([numbers, texts], ["n", "text"])
        table = pa.table({"n": numbers, "meta": inner})
    segment = write(table, tmp_path / "table", form)
    found = read(segment, "meta.text" if nested else "text")
    assert found == (_texts(_DOCUMENTS), len(_DOCUMENTS), 200)


@pytest.mark.parametrize("form", FORMS)
@given(
    documents=st.lists(st.none() | st.text(max_size=9), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    rows=st.integers(1, 12),
)
def test_any_ranges_of_rows_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    form: str,
    documents: list[str | None],
    cuts: list[int],
    rows: int,
) -> None:
    table = pa.table({"text": pa.array(documents, pa.string())})
    path = tmp_path_factory.mktemp("rows") / "table"
    write(table, path, form, rows)
    ends = sorted({min(cut, len(documents)) for cut in cuts} | {0, len(documents)})
    kind = "parquet" if form == "parquet" else "arrow"
    found: list[bytes] = []
    for start, end in pairwise(ends):
        part, records, absent = read(Segment(str(path), start, end, kind))
        assert records == end - start
        assert absent == documents[start:end].count(None)
        found += part
    assert found == _texts(documents)


@pytest.mark.parametrize("form", FORMS)
def test_rows_whose_struct_is_null_have_no_text(tmp_path: Path, form: str) -> None:
    table = pa.table({"a": [{"b": {"t": "x"}}, None, {"b": None}, {"b": {"t": None}}]})
    segment = write(table, tmp_path / "table", form)
    assert read(segment, "a.b.t") == ([b"x"], 4, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["nowhere", "text.deeper", "meta.nowhere"])
def test_without_the_column_no_row_has_text(tmp_path: Path, form: str, field: str) -> None:
    table = pa.table({"text": ["a", "b"], "meta": [{"t": "x"}] * 2})
    assert read(write(table, tmp_path / "table", form), field) == ([], 2, 2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("field", "kind"), [("n", "int64"), ("tags", "list"), ("meta", "struct")])
def test_a_column_of_another_type_is_told_with_those_that_could_be_meant(
    tmp_path: Path, form: str, field: str, kind: str
) -> None:
    meta = [{"title": "x", "year": 1}]
    table = pa.table({"n": [1], "tags": [["a"]], "text": ["a"], "meta": meta})
    segment = write(table, tmp_path / "table", form)
    with pytest.raises(UsageError, match=f"column {field} of .* holds {kind}.*, not text") as told:
        read(segment, field)
    assert told.value.hint.endswith("those with text: text, meta.title")
    with opened_file(segment.path) as file:
        assert table_fields(file, segment) == ["text", "meta.title"]


@pytest.mark.parametrize("form", FORMS)
def test_fewer_rows_than_planned_are_told(tmp_path: Path, form: str) -> None:
    whole = write(pa.table({"text": ["a", "b"]}), tmp_path / "table", form)
    with pytest.raises(SourceChangedError, match=r"table ends at row 2, before 3"):
        read(Segment(whole.path, 0, 3, whole.format))


@pytest.mark.parametrize("form", FORMS)
def test_damaged_files_are_told_whatever_the_damage(tmp_path: Path, form: str) -> None:
    """Or give some text; what they never do is to end in another error, or in none at all."""
    kinds = (pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view())
    chance = random.Random(7)
    failed = 0
    for kind in kinds:
        table = pa.table({"text": of_type(_DOCUMENTS, kind)})
        segment = write(table, tmp_path / "table", form, 200)
        data = (tmp_path / "table").read_bytes()
        for _ in range(60):
            bad, at = bytearray(data), chance.randrange(len(data))
            size = chance.choice([1, 4, 30])
            bad[at : at + size] = chance.randbytes(size)
            (tmp_path / "table").write_bytes(bad[: chance.choice([at, len(bad)])])
            try:
                read(segment)
            except (SourceError, UsageError):  # the latter if the column is another now
                failed += 1
            except MemoryError:  # it says of itself that it is larger than any memory
                failed += 1
    assert failed > 60


def test_a_null_row_whose_view_leads_nowhere_is_damage(tmp_path: Path) -> None:
    """Pyarrow follows it, to wherever in memory that is."""
    views = pa.array(["a text that is longer than twelve bytes", None], pa.string_view())
    buffers = views.buffers()
    odd = bytearray(buffers[1].to_pybytes())
    odd[16:32] = struct.pack("<i4sii", -1_000_000_000, b"oops", 7, 0)
    buffers[1] = pa.py_buffer(bytes(odd))
    table = pa.table({"text": pa.Array.from_buffers(pa.string_view(), 2, buffers)})
    with pytest.raises(SourceError, match="table is damaged"):
        read(write(table, tmp_path / "table", "file"))


@pytest.mark.parametrize("name", ["parquet", "arrow"])
@pytest.mark.parametrize("data", [b"", b"no table at all", b"FEA1" + bytes(40)])
def test_other_files_are_told(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "odd").write_bytes(data)
    with pytest.raises(SourceError, match="odd is "):
        read(Segment(str(tmp_path / "odd"), 0, 1, name))


def test_a_large_row_group_is_read_in_parts(tmp_path: Path) -> None:
    """No part takes more memory than a few texts, however many rows the group has."""
    texts = [chr(97 + number % 26) * 1000 for number in range(20_000)]
    parquet.write_table(pa.table({"text": texts}), tmp_path / "t", use_dictionary=False)
    segment = Segment(str(tmp_path / "t"), 0, 20_000, "parquet")
    with opened_file(segment.path) as file:
        parts = list(table_rows(file, segment, ["text"]))
    assert max(len(memoryview(part.data)) for part in parts) < 6 << 20
    assert sum(part.records for part in parts) == 20_000


@pytest.mark.parametrize("form", FORMS)
def test_pyarrow_reads_a_file_of_this_machine_itself(tmp_path: Path, form: str) -> None:
    """Through Python each byte would be copied once more."""
    segment = write(pa.table({"text": _DOCUMENTS}), tmp_path / "table", form)
    with opened_file(segment.path) as file, file.stream() as stream:
        assert list(table_rows(file, segment, ["text"]))
        assert os.lseek(stream.fileno(), 0, os.SEEK_CUR) == 0


def test_without_pyarrow_the_command_that_installs_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = write(pa.table({"text": ["a"]}), tmp_path / "table", "parquet")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'bpefleet\[parquet\]'"):
        read(segment)


def test_the_place_of_a_text_is_its_row(tmp_path: Path) -> None:
    segment = write(pa.table({"text": _DOCUMENTS}), tmp_path / "table", "parquet", 10**6)
    reader: Any = SegmentReader("text")
    with opened_file(segment.path) as file, suppress(StopIteration):
        part = next(reader.rows(Segment(segment.path, 2, 20, "parquet"), file))
    assert [part.place(document) for document in range(4)] == [f"row {n}" for n in (2, 3, 4, 5)]
    assert part.place(4) == "row 7"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["a.b", "a"])
def test_a_column_with_dots_in_its_name_comes_before_a_field(
    tmp_path: Path, form: str, first: str
) -> None:
    columns = {"n": pa.array([1, 2]), "a.b": ["dotted", None], "a": [{"b": "field"}, {"b": "of"}]}
    names = ["n", first, *({"a.b", "a"} - {first})]
    table = pa.table({name: columns[name] for name in names})
    segment = write(table, tmp_path / "table", form)
    assert read(segment, "a.b") == ([b"dotted"], 2, 1)
    segment = write(table.drop_columns(["a.b"]), tmp_path / "other", form)
    assert read(segment, "a.b") == ([b"field", b"of"], 2, 0)


_LOADED = """
import sys
from bpefleet.kernel.opening import opened_file
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.corpus.tables.rows import load
from bpefleet.shared.wire.messages import Segment

load(["parquet"])
assert "pyarrow._parquet" in sys.modules
for path in sys.argv[1:]:
    with opened_file(path) as file:
        rows = SegmentReader("text").rows(Segment(path, 0, 3, "parquet"), file)
        print(*(bytes(some.data) for some in rows), "numpy" in sys.modules, end=" ")
    print("pyarrow.compute" in sys.modules)
import numpy
"""


def test_a_worker_imports_no_more_than_reading_takes(tmp_path: Path) -> None:
    columns = {
        "plain": pa.array(["a", "b", "c"]),
        "nulls": pa.array(["a", None, "c"]),
        "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
        "views": pa.array(["a", "b", "c"], pa.string_view()),
    }
    paths = [tmp_path / name for name in columns]
    for path, column in zip(paths, columns.values(), strict=True):
        parquet.write_table(pa.table({"text": column}), path)
    told = subprocess.run(
        [sys.executable, "-c", _LOADED, *paths], check=True, capture_output=True, text=True
    )
    plain, *others = told.stdout.splitlines()
    assert plain == "b'abc' False False"
    assert [line.split()[0] for line in others] == ["b'ac'", "b'aba'", "b'abc'"]
