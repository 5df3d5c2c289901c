"""What a Parquet footer says, read without pyarrow, as some damage would end the process."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pyarrow import parquet

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.formats.parquet_footer import first_groups
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.errors import SourceError
from bpefleet.shared.wire.messages import Segment
from tests.worker.queueing import make_spec

if TYPE_CHECKING:
    from pathlib import Path


class _Bytes(io.BytesIO):
    """A file in memory."""

    @property
    def size(self) -> int:
        return len(self.getvalue())

    def pread(self, length: int, offset: int) -> bytes:
        return self.getvalue()[max(0, offset) : offset + length]


def written(rows: int, group: int, **options: Any) -> bytes:
    """A table with columns of several kinds."""
    sink = io.BytesIO()
    table = pa.table(
        {
            "text": [f"words {i % 9}" for i in range(rows)],
            "a.b": [float(i) for i in range(rows)],
            "meta": [{"text": str(i), "on": i % 2 == 0} for i in range(rows)],
            "list": [[i, None] for i in range(rows)],
        }
    )
    parquet.write_table(table, sink, row_group_size=group, **options)
    return sink.getvalue()


@pytest.mark.parametrize("rows", [1, 500])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"write_page_index": True}])
def test_it_says_what_pyarrow_says(rows: int, options: dict[str, Any]) -> None:
    data = written(rows, 20, **options)
    found = first_groups(_Bytes(data), 1000)  # type: ignore[arg-type]
    facts = parquet.ParquetFile(io.BytesIO(data)).metadata
    assert len(found) == facts.num_row_groups
    for group, columns in enumerate(found):
        theirs = map(facts.row_group(group).column, range(facts.num_columns))
        assert columns == {
            each.path_in_schema: (each.total_uncompressed_size, each.has_dictionary_page)
            for each in theirs
        }
    assert first_groups(_Bytes(data), 2) == found[:2]  # type: ignore[arg-type]


@cache
def _table() -> tuple[bytes, int]:
    """A file, and where its footer begins."""
    data = written(30, 10)
    return data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")


@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4
    )
)
def test_damage_is_an_error_at_the_most(changes: list[tuple[float, int]]) -> None:
    whole, footer = _table()
    data = bytearray(whole)
    for place, byte in changes:
        data[footer + int(place * (len(data) - footer))] = byte
    try:
        first_groups(_Bytes(data), 64)  # type: ignore[arg-type]
    except ValueError as error:
        assert "its footer is damaged" in str(error)  # noqa: PT017


def test_a_column_of_other_levels_than_its_histograms_ends_no_process(tmp_path: Path) -> None:
    """A bit of the schema says that a column has no nulls; its chunks count them."""
    optional, required = b"\x25\x02\x18\x04text", b"\x25\x00\x18\x04text"
    data, footer = _table()
    assert optional in data[footer:]
    path = tmp_path / "damaged.parquet"
    path.write_bytes(data[:footer] + data[footer:].replace(optional, required, 1))
    with pytest.raises(SourceError, match=r"damaged.parquet.* damaged .*histogram size mismatch"):
        find_files([path])
    spec = replace(make_spec(), segments=(Segment(str(path), 0, 30, "parquet"),))
    with pytest.raises(SourceError, match="histogram size mismatch"):
        count_spec(spec, count_segments)
