"""What the footer of a Parquet file says of its columns' sizes, read without pyarrow.

`ColumnChunkMetaData` of pyarrow ends the whole process where a damaged footer has level histograms
of other lengths than the column's levels make: the C++ exception meets no Python code that expects
it. So nothing here or in workers asks pyarrow for one.

The form is Thrift's compact protocol; the fields are those of `parquet.thrift` in parquet-format.
"""

from __future__ import annotations

from struct import unpack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from bpefleet.shared.corpus.files import File

_TAIL: Final = 8
_DEEPEST: Final = 32
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_FEW: Final = 15
_ROW_GROUPS: Final = 4
_COLUMNS: Final = 1
_ABOUT: Final = 3
_PATH: Final = 3
_SIZE: Final = 6
_DICTIONARY: Final = 11


class Column(NamedTuple):
    """A column in a row group: its bytes, uncompressed, and whether it has a dictionary."""

    size: int
    has_dictionary: bool


def first_groups(file: File, most: int) -> list[dict[str, Column]]:
    """The columns of the first row groups, by their dotted names.

    Args:
        file: The open file.
        most: How many row groups at the most.

    Raises:
        ValueError: The footer is damaged.
    """
    length, magic = unpack("<I4s", file.pread(_TAIL, file.size - _TAIL))
    if magic != b"PAR1" or length > file.size - _TAIL:
        raise ValueError("its footer is damaged")
    reader = _Reader(file.pread(length, file.size - _TAIL - length))
    try:
        return [_columns(group) for group in reader.row_groups(most)]
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError("its footer is damaged") from error


def _columns(group: dict[int, Any]) -> dict[str, Column]:
    about = [column[_ABOUT] for column in group[_COLUMNS]]
    return {
        b".".join(each[_PATH]).decode(): Column(each[_SIZE], _DICTIONARY in each) for each in about
    }


class _Reader:
    """Reads Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def row_groups(self, most: int) -> list[dict[int, Any]]:
        """The first row groups of the file's metadata, each by the numbers of its fields."""
        field = 0
        while kind := self._data[self._at]:
            field = self._field(field)
            if field == _ROW_GROUPS:
                count, of = self._list()
                return [self._value(of, 0) for _ in range(min(count, most))]
            self._value(kind & 0xF, 0)
        return []

    def _field(self, before: int) -> int:
        step = self._data[self._at] >> 4
        self._at += 1
        return before + step if step else self._number()

    def _value(self, kind: int, depth: int) -> Any:
        """A value; `ValueError` for what is none."""
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _STRUCT and depth < _DEEPEST:
            return self._struct(depth + 1)
        if kind in (_LIST, _SET) and depth < _DEEPEST:
            count, of = self._list()
            one_byte = _BYTE if of in (_TRUE, _FALSE) else of
            return [self._value(one_byte, depth + 1) for _ in range(count)]
        if kind in (_BYTE, _DOUBLE, _BINARY):
            return self._bytes({_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint())
        if _BYTE < kind < _DOUBLE:
            return self._number()
        raise ValueError("its footer is damaged")  # also a map, which there is none of

    def _struct(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while kind := self._data[self._at]:
            field = self._field(field)
            found[field] = self._value(kind & 0xF, depth)
        self._at += 1
        return found

    def _list(self) -> tuple[int, int]:
        head = self._bytes(1)[0]
        count = head >> 4
        return (self._varint() if count == _FEW else count), head & 0xF

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise IndexError
        self._at += count
        return found

    def _number(self) -> int:
        found = self._varint()
        return found >> 1 ^ -(found & 1)

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004  more follows
                return found
