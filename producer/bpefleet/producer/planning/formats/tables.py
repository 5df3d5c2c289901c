"""Tables as they are planned: their rows, the column with the text, how much text it holds."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Final

from bpefleet.producer.planning.formats.arrow_messages import record_batches
from bpefleet.producer.planning.formats.parquet_footer import first_groups
from bpefleet.producer.planning.opening import opened_source
from bpefleet.shared.corpus.formats import ARROW, COUNTS_TABLE, PARQUET
from bpefleet.shared.corpus.tables.columns import column_path, holds_text, text_columns, texts
from bpefleet.shared.corpus.tables.counted import demand_columns
from bpefleet.shared.errors import DamagedSourceError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import DataType, RecordBatch, Schema

    from bpefleet.shared.corpus.files import File

_SAMPLE: Final = 1000
"""Rows whose text is measured."""
_GROUPS: Final = 64
"""Row groups whose columns are looked at; the others are taken to be like them together."""
_NAMED: Final = 20
"""Columns that an error names."""
_MOST: Final = 1 << 50
"""More rows, and bytes, than a file can hold."""
_MAGIC: Final = (b"PAR1", b"PARE", b"ARROW1")
"""What tables both begin and end with."""
_BUFFER: Final = 1 << 16
"""Bytes of a column that are read at once: no more of it than the sample needs."""


def rows_and_text(file: File, path: str, format_: str, field: str) -> tuple[int, int]:
    """How many rows a table has, and how many bytes of text to expect.

    Of Parquet, what the footer says of the column's size. Where values are repeated it holds each
    once, and then what the first rows have counts, if that comes to more. Of Arrow, the size of all
    batches, less what in the first one is no text.

    Args:
        file: The open file.
        path: Its name.
        format_: `parquet` or `arrow`.
        field: The column, dotted where it lies in structs.

    Raises:
        DamagedSourceError: It is damaged.
        SourceError: It has no such column, or one that holds no text.
        UsageError: pyarrow is not installed.
    """
    look = {PARQUET: _parquet, COUNTS_TABLE: _counts}.get(format_, _arrow)
    with _errors(path, file), file.stream() as stream:
        rows, text = look(stream, file, path, field)
        if not (0 <= rows < _MOST and 0 <= text < _MOST):
            raise ValueError(f"it says that it has {rows:,} rows, of {text:,} bytes in all")
        return rows, text


@lru_cache(maxsize=1)
def edges(path: str, version: str, size: int, kind: str) -> list[int]:
    """The rows after which a row group or batch of a table ends.

    Args:
        path: The table's, or its URL.
        version: What tells it from another in its place, if it is in a store.
        size: Its bytes.
        kind: Its format.

    Raises:
        SourceError: It cannot be read.
    """
    try:
        with opened_source(path, version, size) as source, _errors(path, source):
            if kind == ARROW:
                return list(accumulate(rows for rows, _ in record_batches(source)))
            with source.stream() as data:
                found = _arrow_library("parquet").ParquetFile(data).metadata
                groups = range(found.num_row_groups)
                return list(accumulate(found.row_group(i).num_rows for i in groups))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error


def _parquet(stream: Any, file: File, path: str, field: str) -> tuple[int, int]:
    table = _arrow_library("parquet").ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER)
    _demand_text(table.schema_arrow, field, path)
    facts = table.metadata
    columns = [group[field] for group in first_groups(file, _GROUPS)]
    text = sum(column.size for column in columns)
    sizes = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
    text += sum(sizes[_GROUPS:]) * text // max(1, sum(sizes[:_GROUPS]))
    if any(column.has_dictionary for column in columns):
        first = next(table.iter_batches(_SAMPLE, columns=[field], use_threads=False), None)
        if first is not None and first.num_rows:
            text = max(text, _text_in(first, field) * facts.num_rows // first.num_rows)
    return facts.num_rows, max(1, text)


def _counts(stream: Any, file: File, path: str, _field: str) -> tuple[int, int]:
    table = _arrow_library("parquet").ParquetFile(stream)
    demand_columns(table.schema_arrow, path)
    return table.metadata.num_rows, file.size


def _arrow(stream: Any, file: File, path: str, field: str) -> tuple[int, int]:
    ipc = _arrow_library("ipc")
    is_file = file.pread(6, 0) == b"ARROW1"
    batches = (ipc.open_file if is_file else ipc.open_stream)(stream)
    _demand_text(batches.schema, field, path)
    sizes = list(record_batches(file))
    rows, size = (sum(each) for each in zip(*sizes, strict=True)) if sizes else (0, 0)
    at = next((i for i, (count, _) in enumerate(sizes) if count), None)
    if at is None:
        return 0, 0
    for _ in range(0 if is_file else at):
        batches.read_next_batch()
    first = batches.get_batch(at) if is_file else batches.read_next_batch()
    return rows, max(1, _text_in(first, field) * size // max(1, sizes[at][1]))


def _text_in(batch: RecordBatch, field: str) -> int:
    """Bytes of text in a column."""
    name, *inner = column_path(batch.schema, field.split("."))
    column: Any = batch.column(batch.schema.get_all_field_indices(name)[0])
    if inner:
        import pyarrow.compute as pc  # noqa: PLC0415  optional, and slow to import

        column.validate()  # of a damaged file, offsets may lead anywhere
        column = pc.struct_field(column, inner)
    sample = texts(column.slice(0, _SAMPLE), 0)
    offsets = memoryview(sample.offsets).cast("B").cast("q" if sample.offset_bytes > 4 else "i")  # noqa: PLR2004
    return int(offsets[-1] - offsets[0]) * len(column) // max(1, sample.records)


def _demand_text(schema: Schema, field: str, path: str) -> None:
    """Make sure that a table has the column, and that it holds text."""
    types = dict(_columns(schema)) | dict(zip(schema.names, schema.types, strict=True))
    if field in types and holds_text(types[field]):
        return
    of_text = _listed(text_columns(schema))
    said = f"the column {field!r} is {types[field]}" if field in types else f"no column {field!r}"
    raise SourceError(
        f"{path}: {said}; its columns: {_listed(types)}",
        hint=f"name the one that holds the text with --text-field; of text: {of_text or 'none'}; "
        "files that have it under another name are a source of their own, in a corpus file",
    )


def _listed(names: Iterable[str]) -> str:
    shown = list(islice(names, _NAMED + 1))
    return ", ".join(shown[:_NAMED] + ["…"] * (len(shown) > _NAMED))


def _columns(fields: Any, above: str = "") -> Iterator[tuple[str, DataType]]:
    """Columns and what structs hold, by their dotted names."""
    import pyarrow as pa  # noqa: PLC0415  optional

    for field in fields:
        yield above + field.name, field.type
        if pa.types.is_struct(field.type):
            inner = [field.type.field(i) for i in range(field.type.num_fields)]
            yield from _columns(inner, f"{above}{field.name}.")


def _arrow_library(name: str) -> Any:
    """A module of pyarrow.

    Raises:
        UsageError: It is not installed.
    """
    from importlib import import_module  # noqa: PLC0415

    try:
        return import_module(f"pyarrow.{name}")
    except ImportError as error:
        raise UsageError(
            "Parquet and Arrow files are read with pyarrow, which is not installed",
            hint="pip install 'bpefleet[parquet]'",
        ) from error


@contextmanager
def _errors(path: str, file: File) -> Iterator[None]:
    """Say of which file pyarrow speaks: its own errors are subclasses of built-in ones."""
    try:
        yield
    except (ValueError, OSError, NotImplementedError, LookupError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = _how_it_ends(file) or str(error).partition("\n")[0]
        raise DamagedSourceError(
            f"{path}: the table is damaged or cannot be read: {said}",
            hint="copy the file again, or make it again",
        ) from error


def _how_it_ends(file: File) -> str:
    """What is wrong with the end of a file, if it shows that not all of it is there."""
    head = file.pread(max(map(len, _MAGIC)), 0)
    magic = next((each for each in _MAGIC if head.startswith(each)), b"")
    if file.pread(len(magic), max(0, file.size - len(magic))) == magic:
        return ""
    return f"its last bytes are not {magic.decode()}: it is cut off, or something follows it"
