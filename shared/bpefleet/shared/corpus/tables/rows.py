"""Reading rows of Parquet and Arrow files: the one column that is needed, batch by batch."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.corpus.formats import COUNTS_TABLE, PARQUET
from bpefleet.shared.corpus.tables.columns import (
    column_path,
    has_column,
    none_of,
    rows_at_once,
    text_columns,
    texts,
)
from bpefleet.shared.errors import DamagedSourceError, SourceChangedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import BinaryIO

    from bpefleet.shared.corpus.files import File
    from bpefleet.shared.corpus.tables.columns import RowSampler, Texts
    from bpefleet.shared.wire.messages import Segment

_BATCH: Final = 2 << 20
"""Bytes of text that are decoded at once, about: enough that calls cost nothing."""
_FEWEST_ROWS: Final = 16
"""Rows of a batch at the least, though other columns may be large."""
_MOST_ROWS: Final = 1 << 13
"""Rows of a batch at the most: how long a dictionary's texts are the file does not tell."""
_BUFFER: Final = 1 << 16
"""Bytes that are read at once: a row group need not fit into memory. Pages that are larger are read
into their own memory; those that are not are copied.
"""
_ARROW_FILE: Final = b"ARROW1"
"""How Arrow's file format begins, as opposed to a stream."""
_FEATHER_1: Final = b"FEA1"


def table_rows(
    file: File, segment: Segment, path: Sequence[str], sampler: RowSampler | None = None
) -> Iterator[Texts]:
    """The texts of a segment's rows.

    Args:
        file: The open file.
        segment: Its rows.
        path: The name of the text's column, and those of the fields in it that lead to the text.
        sampler: Takes some of them; None for all.

    Raises:
        DamagedSourceError: The file is damaged.
        SourceChangedError: It has fewer rows.
        UsageError: The column holds no text.
    """
    with _table(file, segment.path) as source:
        parts = _parquet if segment.format == PARQUET else _arrow
        at = segment.start
        for column, rows in parts(source, segment, path):
            yield none_of(rows, at) if column is None else texts(column, at, sampler)
            at += rows
        _demand_all(segment, at)


def parquet_rows(
    file: File,
    segment: Segment,
    columns: Sequence[str],
    rows: int,
    demand: Callable[[Any, str], object],
) -> Iterator[tuple[int, Any]]:
    """The rows of a segment of a Parquet file: record batches, each with its first row's number.

    Args:
        file: The open file.
        segment: Its rows.
        columns: The columns to read.
        rows: Rows of a batch at the most.
        demand: Called with the file's schema and its name before anything is read.

    Raises:
        DamagedSourceError: The file is damaged.
        SourceChangedError: It has fewer rows.
    """
    with _table(file, segment.path) as source:
        table, begin, at = _opened_parquet(source), 0, segment.start
        demand(table.schema_arrow, segment.path)
        for group in range(table.metadata.num_row_groups):
            end = begin + table.metadata.row_group(group).num_rows
            if begin < segment.end and end > segment.start:
                for batch in table.iter_batches(rows, [group], [*columns], use_threads=False):
                    batch.validate(full=True)
                    first = min(len(batch), max(0, segment.start - begin))
                    part = batch.slice(first, max(0, segment.end - begin - first))
                    if len(part):
                        yield at, part
                    at += len(part)
                    begin += len(batch)
            begin = end
        _demand_all(segment, at)


def table_fields(file: File, segment: Segment) -> list[str]:
    """The columns of a file that hold text."""
    with _table(file, segment.path) as source:
        if segment.format == PARQUET:
            return text_columns(_opened_parquet(source).schema_arrow)
        return text_columns(_opened_arrow(source, segment.path).schema)


def parquet_metadata(file: File, path: str) -> dict[bytes, bytes]:
    """What a Parquet file says of itself, by keys of those who wrote it.

    Raises:
        DamagedSourceError: The file is damaged.
        UsageError: pyarrow is not installed.
    """
    with _table(file, path) as source:
        return dict(_opened_parquet(source).schema_arrow.metadata or {})


def load(formats: Iterable[str]) -> None:
    """Import what reads tables of these formats, if it is there, in a process that only counts.

    It takes as long as counting a small chunk. pyarrow takes numpy where it is there, and needs it
    for nothing that is done here: importing that takes most of the time.
    """
    is_numpy_there = "numpy" in sys.modules
    if not is_numpy_there:
        hidden: dict[str, Any] = {"numpy": None}  # as if it were not installed
        sys.modules.update(hidden)
    try:
        with suppress(ImportError):
            from pyarrow import ipc  # noqa: F401, PLC0415  an extra

            if not {PARQUET, COUNTS_TABLE}.isdisjoint(formats):
                from pyarrow import parquet  # noqa: F401, PLC0415  an extra
    finally:
        if not is_numpy_there:
            del sys.modules["numpy"]


def _demand_all(segment: Segment, at: int) -> None:
    if at < segment.end:
        raise SourceChangedError(
            f"{segment.path} ends at row {at}, before {segment.end}",
            hint="the file changed since the run was planned; start a new run",
        )


@contextmanager
def _table(file: File, path: str) -> Iterator[Any]:
    """The file as pyarrow reads it. Within the block, its errors become this project's."""
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra, and slow to import
    except ImportError:
        raise UsageError(
            f"{path} is read with pyarrow, which is not installed here",
            hint="pip install 'bpefleet[parquet]', on every machine that counts",
        ) from None
    try:
        with file.stream() as plain, _read_by_arrow(plain) as source:
            yield source
    except (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        IndexError,
        UnicodeDecodeError,  # of a column's name
        OSError,
    ) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not pyarrow's
            raise
        raise DamagedSourceError(
            f"{path} is damaged, or no such table: {str(error).partition(chr(10))[0]}",
            hint="copy the file again, or make it again",
        ) from error


def _read_by_arrow(plain: BinaryIO) -> Any:
    """A file as pyarrow reads it: by itself, where it is one of this machine.

    That spares a copy of all bytes, and a tenth of the time of counting Parquet.
    """
    import pyarrow as pa  # noqa: PLC0415  slow to import

    with suppress(OSError):  # in a store, or the system does not show what is open
        return pa.OSFile(f"/dev/fd/{plain.fileno()}")
    return pa.PythonFile(plain, mode="r")


def _opened_parquet(source: Any) -> Any:
    from pyarrow import parquet  # noqa: PLC0415  slow to import

    return parquet.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)


def _parquet(source: Any, segment: Segment, path: Sequence[str]) -> Iterator[tuple[Any, int]]:
    """The column's parts and their rows, from the row groups that the segment touches."""
    table, name = _opened_parquet(source), ".".join(path)
    path = column_path(table.schema_arrow, path)
    if not has_column(table.schema_arrow, path, segment.path):
        yield None, max(0, min(segment.end, table.metadata.num_rows) - segment.start)
        return
    begin = 0
    for group in range(table.metadata.num_row_groups):
        about = table.metadata.row_group(group)
        end = begin + about.num_rows
        if begin < segment.end and end > segment.start:
            # What this column takes is not asked: where a footer is damaged, pyarrow would end the
            # process (see `bpefleet.producer.planning.formats.parquet_footer`).
            size = about.total_byte_size
            rows = max(_FEWEST_ROWS, min(_MOST_ROWS, _BATCH * about.num_rows // max(1, size)))
            batches = table.iter_batches(rows, [group], [name], use_threads=False)
            yield from _within(batches, begin, segment, path)
        begin = end


def _opened_arrow(source: Any, path: str, column: int | None = None) -> Any:
    """A reader of the file or stream, of one column only if that is asked for."""
    from pyarrow import ipc  # noqa: PLC0415  slow to import

    source.seek(0)
    magic = source.read(len(_ARROW_FILE))
    source.seek(0)
    if magic.startswith(_FEATHER_1):
        raise DamagedSourceError(
            f"{path} is Feather's version 1, which is not read",
            hint="write it again as version 2, which is Arrow's file format",
        )
    options = ipc.IpcReadOptions(
        use_threads=False, included_fields=None if column is None else [column]
    )
    reader = ipc.open_file if magic == _ARROW_FILE else ipc.open_stream
    return reader(source, options=options)


def _arrow(source: Any, segment: Segment, path: Sequence[str]) -> Iterator[tuple[Any, int]]:
    """The column's parts and their rows, from the record batches that the segment touches."""
    schema = _opened_arrow(source, segment.path).schema
    path = column_path(schema, path)
    if not has_column(schema, path, segment.path):
        yield None, segment.end - segment.start
        return
    reader = _opened_arrow(source, segment.path, schema.get_all_field_indices(path[0])[0])
    if hasattr(reader, "get_batch"):
        batches = map(reader.get_batch, range(reader.num_record_batches))
    else:
        batches = iter(reader)
    yield from _within(batches, 0, segment, path)


def _within(
    batches: Iterator[Any], begin: int, segment: Segment, path: Sequence[str]
) -> Iterator[tuple[Any, int]]:
    """Of batches, of which the first begins with row `begin`, the rows of a segment."""
    for batch in batches:
        end = begin + batch.num_rows
        first, last = max(begin, segment.start), min(end, segment.end)
        if first < last:
            # Parquet gives two, if one has the dots in its name that lead to the other.
            index = batch.schema.get_all_field_indices(path[0])[0]
            column = batch.column(index).slice(first - begin, last - first)
            if path[1:]:
                from pyarrow import compute  # noqa: PLC0415  slow to import

                column.validate()
                column = compute.struct_field(column, list(path[1:]))
            for at in range(0, len(column), step := rows_at_once(column, _MOST_ROWS)):
                yield column.slice(at, step), min(step, len(column) - at)
        begin = end
        if begin >= segment.end:
            return
