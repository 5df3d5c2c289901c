"""Reading encoded corpora: ids and documents, mapped into memory as they are asked for."""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from bpefleet.shared.errors import OutputError, UsageError
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.tokens.index import SOURCES, VERSION, Index, SourceLine
from bpefleet.shared.wire.encoding import INDEX
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = Any
"""A NumPy array if NumPy is installed, else a `memoryview` of integers; both are read-only."""

_LLM_C_HEAD: Final = 1024
_NPY_LENGTH: Final = 8
"""Where the length of a NumPy file's header is, in two bytes."""
_MEGATRON_HEAD: Final = 34
_CODES: Final = {2: "H", 4: "I"}


def open_tokens(directory: str | os.PathLike[str]) -> Tokens:
    """Open what `bpefleet encode` wrote.

    Args:
        directory: The folder with `index.json` and the shards.

    Raises:
        OutputError: There is no such folder, it is damaged, or the run is not finished.
        UsageError: It is a URL.
    """
    place = os.fspath(directory)
    if is_url(place):
        raise UsageError(f"{place} cannot be mapped into memory", hint="copy it to this machine")
    folder = Path(place)
    try:
        index = Index.from_bytes((folder / INDEX).read_bytes())
    except FileNotFoundError:
        raise OutputError(
            f"{folder}: no encoded corpus ({INDEX} is missing)",
            hint=f"finish the run first: bpefleet resume {folder}",
        ) from None
    except OSError as error:
        raise OutputError(f"{folder / INDEX}: {error.strerror}") from error
    except MessageError as error:
        raise OutputError(f"{folder / INDEX} is damaged: {error}") from error
    if index.version != VERSION:
        raise OutputError(
            f"{folder / INDEX} has version {index.version}, this program reads {VERSION}"
        )
    if not index.width:
        raise OutputError(f"{folder}: its tokens were counted, and not kept")
    return Tokens(folder, index)


class Shard:
    """Some whole documents.

    Attributes:
        documents: How many it has.
    """

    def __init__(self, folder: Path, index: Index, number: int) -> None:
        self.documents = index.shards[number].documents
        self._folder = folder
        self._format = index.format
        self._width = index.width
        self._files = index.shards[number].files
        self._tokens = index.shards[number].tokens

    def __len__(self) -> int:
        """How many tokens it has."""
        return self._tokens

    @cached_property
    def ids(self) -> Array:
        """Its ids, one document after the other, mapped into memory.

        Raises:
            OutputError: The file is gone, or has another size than the index says.
        """
        if self._format in ("parquet", "arrow"):
            return _array(self._column.values.buffers()[1], self._width, 0, self._tokens)
        data = self._mapped(0)
        start = 0
        if self._format == "llm.c":
            start = _LLM_C_HEAD
        elif self._format == "npy":
            start = _NPY_LENGTH + 2 + int.from_bytes(data[_NPY_LENGTH : _NPY_LENGTH + 2], "little")
        return _array(data, self._width, start, self._tokens)

    def document(self, number: int) -> Array:
        """The ids of one of its documents, its separator included."""
        start, end = self._bounds(number)
        return self.ids[start:end]

    def _bounds(self, number: int) -> tuple[int, int]:
        if self._format in ("parquet", "arrow"):
            offsets = self._column.offsets
            return offsets[number].as_py(), offsets[number + 1].as_py()
        data = self._mapped(1)
        if self._format == "megatron":
            lengths = _array(data, 4, _MEGATRON_HEAD, self.documents)
            at = _MEGATRON_HEAD + 4 * self.documents + 8 * number
            start = int.from_bytes(data[at : at + 8], "little") // self._width
            return start, start + int(lengths[number])
        end = int.from_bytes(data[8 * number : 8 * number + 8], "little")
        return (int.from_bytes(data[8 * number - 8 : 8 * number], "little") if number else 0), end

    @cached_property
    def _column(self) -> Any:
        """The column of a table, as Arrow's array of lists."""
        import pyarrow as pa  # noqa: PLC0415  an extra
        from pyarrow import ipc, parquet  # noqa: PLC0415  likewise

        path = str(self._folder / self._files[0].name)
        if self._format == "parquet":
            table = parquet.read_table(path, memory_map=True)
        else:
            table = ipc.open_file(pa.memory_map(path)).read_all()
        column = table.column(0).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # of an empty one
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        return column

    def _mapped(self, which: int) -> Any:
        return _mapped(str(self._folder / self._files[which].name), self._files[which].bytes)


class Documents(Sequence[Array]):
    """The documents of a corpus, in its order; each is an array of ids."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards
        self._ends = list(accumulate(shard.documents for shard in shards))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, number: int) -> Array: ...
    @overload
    def __getitem__(self, number: slice) -> list[Array]: ...
    def __getitem__(self, number: int | slice) -> Array:
        """A document's ids, its separator included; or those of several."""
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"there is no document {number}, of {len(self):,}")
        shard = bisect_right(self._ends, number)
        first = self._ends[shard - 1] if shard else 0
        return self._shards[shard].document(number - first)


class Tokens:
    """An encoded corpus.

    Attributes:
        index: What `index.json` says.
        shards: Its shards, each with its ids as one array.
        documents: Its documents.
    """

    def __init__(self, folder: Path, index: Index) -> None:
        self.index = index
        self.shards = [Shard(folder, index, number) for number in range(len(index.shards))]
        self.documents = Documents(self.shards)
        self._folder = folder

    def __len__(self) -> int:
        """How many tokens it has."""
        return self.index.tokens

    def __repr__(self) -> str:
        index = self.index
        return f"<{index.tokens:,} tokens in {index.documents:,} documents, {self._folder}>"

    @property
    def sources(self) -> Iterator[SourceLine]:
        """The files of the corpus: where in it their tokens and documents are.

        Raises:
            OutputError: The list is gone or damaged.
        """
        path = self._folder / SOURCES
        try:
            with path.open("rb") as lines:
                yield from map(SourceLine.from_bytes, lines)
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from error
        except MessageError as error:
            raise OutputError(f"{path} is damaged: {error}") from error


@lru_cache(maxsize=64)
def _mapped(path: str, size: int) -> Any:
    """A file in memory.

    Raises:
        OutputError: It cannot be read, or has another size.
    """
    try:
        with Path(path).open("rb") as file:
            if (found := os.fstat(file.fileno()).st_size) != size:
                raise OutputError(f"{path} has {found:,} bytes, and {size:,} by the index")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error


def _array(data: Any, width: int, start: int, count: int) -> Array:
    """Some integers in a buffer."""
    if data is None:  # an empty one need not have buffers
        data = b""
    view = memoryview(data).cast("B")[start : start + width * count].toreadonly()
    try:
        import numpy as np  # noqa: PLC0415  optional, and slow to import
    except ImportError:
        return view.cast("B").cast(_CODES[width])  # type: ignore[call-overload]
    return np.frombuffer(view, f"<u{width}")
