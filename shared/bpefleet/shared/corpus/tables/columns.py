"""The text column of a table: finding it by its name, and its texts as Arrow lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OFFSET_BYTES: Final[dict[str, Literal[4, 8]]] = {"binary": 4, "large_binary": 8}
_BYTES: Final = {"string": "binary", "large_string": "large_binary"}
"""Types of text, and those of the bytes that they are."""
_PLAIN: Final = ("string", "large_string", *_OFFSET_BYTES)


class RowSampler(Protocol):
    """Takes some rows of a table: `bpefleet.kernel.Sampler`, which nothing in `shared` imports."""

    def rows(self, first: int, count: int) -> bytes:
        """Of rows from `first` on those that are taken, as native integers of 8 bytes from 0 on."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of some rows, one after the other.

    Attributes:
        data: A buffer that holds them.
        offsets: Where each begins in it, and at last where the last ends.
        offset_bytes: Bytes of an offset, 4 or 8.
        records: Rows.
        absent: Those of them that have no text, and are not in `offsets`.
        first: The number of the first row in its file, from 0.
        present: Which of the rows have a text, as Arrow's array; None where all have.
        taken: The rows that a sampler took, as Arrow's array, and no others are meant above; None
            where it is all.
    """

    data: Any
    offsets: Any
    offset_bytes: Literal[4, 8]
    records: int
    absent: int
    first: int
    present: Any = None
    taken: Any = None

    def place(self, document: int) -> str:
        """Where in its file the text of a number is."""
        if self.present is not None:
            rows = (i for i, there in enumerate(self.present.to_pylist()) if there)
            document = next(row for n, row in enumerate(rows) if n == document)
        if self.taken is not None:
            document = self.taken[document].as_py()
        return f"row {self.first + document}"


def texts(column: Any, first: int, sampler: RowSampler | None = None) -> Texts:
    """The texts of a column, which begins with row `first` of its file, or a sample of them.

    Damaged files have offsets that lead anywhere: they are looked at before they are used.
    """
    column.validate()
    array = _as_binary(column)
    array.validate(full=True)
    taken = None
    if sampler is not None:
        taken = _indices(sampler.rows(first, len(array)))
        array = array.take(taken)
    records = len(array)
    absent, present = array.null_count, None
    if absent:
        present, array = array.is_valid(), array.drop_null()
    width = _OFFSET_BYTES[str(array.type)]
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):  # an empty one need not have buffers
        offsets, data = bytes(width), b""
    else:
        offsets = offsets.slice(array.offset * width, (len(array) + 1) * width)
    return Texts(data or b"", offsets, width, records, absent, first, present, taken)


def _indices(rows: bytes) -> Any:
    import pyarrow as pa  # noqa: PLC0415  slow to import

    return pa.Array.from_buffers(pa.int64(), len(rows) // 8, [None, pa.py_buffer(rows)])


def rows_at_once(column: Any, few: int) -> int:
    """How many rows of a column to bring into Arrow's plain layout together.

    Those that have it need no memory for that. Of a dictionary, all texts are looked at each time.

    Args:
        column: An array.
        few: Rows whose texts surely fit into memory.
    """
    if str(column.type) in _PLAIN:
        return max(1, len(column))
    return max(few, len(getattr(column, "dictionary", ())))


def none_of(rows: int, first: int) -> Texts:
    """As many rows without text."""
    return Texts(b"", bytes(8), 8, rows, rows, first)


def _as_binary(array: Any) -> Any:
    """An array of texts, whichever way it is laid out, with one row of offsets."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    kind = array.type
    if isinstance(kind, pa.ExtensionType):
        return _as_binary(array.storage)
    if pa.types.is_dictionary(kind):
        values = _as_binary(array.dictionary).cast(pa.large_binary())
        values.validate(full=True)
        return values.take(array.indices)
    if pa.types.is_null(kind):
        return array.cast(pa.large_binary())
    if str(kind) in _BYTES:
        # A cast would import all of pyarrow's functions first, which takes 0.06 s.
        return array.view(getattr(pa, _BYTES[str(kind)])())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        views = array.cast(pa.binary_view())
        # Looked at as if none were null: pyarrow follows the views of null rows, too.
        buffers = [None, *views.buffers()[1:]]
        pa.Array.from_buffers(views.type, len(views), buffers, offset=views.offset).validate(
            full=True
        )
        return views.cast(pa.large_binary())
    return array


def holds_text(kind: Any) -> bool:
    """Whether a column of this type can be read."""
    import pyarrow as pa  # noqa: PLC0415  slow to import

    if isinstance(kind, pa.ExtensionType):
        return holds_text(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return holds_text(kind.value_type)
    return any(
        is_it(kind)
        for is_it in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_null,
        )
    )


def text_columns(schema: Any) -> list[str]:
    """The columns that can be read, with dots where they are nested."""
    return list(_readable(schema, ""))


def _readable(fields: Any, above: str) -> Iterator[str]:
    import pyarrow as pa  # noqa: PLC0415  slow to import

    for field in fields:
        if holds_text(field.type):
            yield above + field.name
        elif pa.types.is_struct(field.type):
            yield from _readable(field.type, f"{above}{field.name}.")


def column_path(schema: Any, path: Sequence[str]) -> tuple[str, ...]:
    """The names that lead to a column: one, if there is a column with dots in its name.

    Args:
        schema: Of the table.
        path: What was asked for, divided at its dots.
    """
    name = ".".join(path)
    return (name,) if name in schema.names else tuple(path)


def has_column(schema: Any, path: Sequence[str], file: str) -> bool:
    """Whether there is a column of a name.

    Args:
        schema: Of the table.
        path: The column's name, and those of the fields in it that lead to the text.
        file: The file's name, for errors.

    Raises:
        UsageError: There is, but it holds no text.
    """
    import pyarrow as pa  # noqa: PLC0415  slow to import

    inside, kind = schema, None
    for name in path:
        found = [field for field in inside if field.name == name] if inside is not None else []
        if not found:
            return False
        kind = found[0].type
        inside = kind if pa.types.is_struct(kind) else None
    if not holds_text(kind):
        others = ", ".join(text_columns(schema)) or "none"
        raise UsageError(
            f"the column {'.'.join(path)} of {file} holds {kind}, not text",
            hint=f"name another with --text-field in a new run; those with text: {others}",
        )
    return True
