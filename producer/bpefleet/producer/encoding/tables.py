"""Shards as tables: a row a document, with its ids in the column `input_ids`."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.encoding.layout import Contents, Shard

_AT_ONCE: Final = 1 << 20
"""Tokens of a row group, or record batch: it ends with the document with which it has so many."""
COLUMN: Final = "input_ids"


def demand_pyarrow() -> None:
    """Make sure that tables can be written.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401, ICN001, PLC0415  an extra
    except ImportError as error:
        raise UsageError(
            "Parquet and Arrow take pyarrow, which is not installed",
            hint="pip install 'bpefleet[parquet]'",
        ) from error


def write_table(file: BinaryIO, kind: str, contents: Contents, shard: Shard, width: int) -> None:
    """Write a shard as a table.

    Args:
        file: Where.
        kind: `parquet` or `arrow`.
        contents: Reads the pieces.
        shard: Which.
        width: Bytes of an id.
    """
    import pyarrow as pa  # noqa: PLC0415  an extra
    from pyarrow import ipc, parquet  # noqa: PLC0415  likewise

    ids = pa.uint16() if width == 2 else pa.uint32()  # noqa: PLR2004
    schema = pa.schema([pa.field(COLUMN, pa.list_(pa.field("item", ids)))])
    sink = pa.PythonFile(file, mode="w")
    if kind == "parquet":
        with parquet.ParquetWriter(sink, schema, compression="zstd", use_dictionary=False) as made:
            for batch in _batches(contents, shard, ids, schema, pa):
                made.write_batch(batch, row_group_size=max(1, len(batch)))
        return
    with ipc.new_file(sink, schema) as writer:
        for batch in _batches(contents, shard, ids, schema, pa):
            writer.write_batch(batch)


def _batches(contents: Contents, shard: Shard, ids: Any, schema: Any, pa: Any) -> Iterator[Any]:
    ends = array("Q")
    for more in contents.ends(shard):
        ends.extend(more)
    first = start = 0
    while first < len(ends):
        last = min(len(ends), bisect_left(ends, start + _AT_ONCE, first) + 1)
        end = ends[last - 1]
        data = bytearray()
        for block in contents.ids(shard.token + start, shard.token + end):
            data += block
        offsets = array("i", [0, *(each - start for each in ends[first:last])])
        values = pa.Array.from_buffers(ids, end - start, [None, pa.py_buffer(data)])
        places = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)])
        lists = pa.ListArray.from_arrays(places, values, type=schema.field(0).type)
        yield pa.record_batch([lists], schema=schema)
        first, start = last, end
