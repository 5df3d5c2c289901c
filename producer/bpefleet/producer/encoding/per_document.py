"""The tokens of each document as a Parquet file."""

from __future__ import annotations

import errno
from array import array
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bpefleet.producer.encoding.formats import ENDS, shard_name
from bpefleet.producer.files.atomic import TEMPORARY, demand_local, unwritable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from bpefleet.shared.tokens.index import SourceLine

_AT_ONCE: Final = 1 << 20
"""Documents of a row group, at the most."""
_WIDE: Final = 8


class DocumentTable:
    """Writes the table; a context manager that puts it in its place at the end, if all went well.

    Args:
        path: Where; None for nowhere.

    Raises:
        OutputError: Its folder is not there.
        UsageError: It is a URL.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None:
            demand_local(self._path)
            if not self._path.parent.is_dir():
                raise unwritable(self._path, FileNotFoundError(errno.ENOENT, "no such folder"))
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._path is None or self._writer is None:
            return
        temporary = self._path.with_name(self._path.name + TEMPORARY)
        try:
            self._writer.close()
            if kind is None:
                temporary.replace(self._path)
        except OSError as error:
            raise unwritable(self._path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def add(self, tokenizer: str, folder: Path, files: Iterable[SourceLine]) -> None:
        """Add the documents of a run that counted.

        Args:
            tokenizer: What it is called.
            folder: The run's directory.
            files: Those of the corpus.

        Raises:
            OutputError: It cannot be written.
        """
        if self._path is None:
            return
        try:
            with (folder / (shard_name(0) + ENDS)).open("rb") as ends:
                last = 0
                for file in files:
                    for first in range(0, file.documents, _AT_ONCE):
                        count = min(_AT_ONCE, file.documents - first)
                        each = array("Q")
                        each.frombytes(ends.read(_WIDE * count))
                        starts = (last, *each)
                        tokens = [end - start for start, end in zip(starts, each, strict=False)]
                        last = each[-1]
                        self._write(tokenizer, file.path, first, tokens)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def _write(self, tokenizer: str, source: str, first: int, tokens: list[int]) -> None:
        import pyarrow as pa  # noqa: PLC0415  an extra
        from pyarrow import parquet  # noqa: PLC0415  likewise

        count = len(tokens)
        columns = {
            "tokenizer": pa.array([tokenizer] * count, pa.string()),
            "source": pa.array([source] * count, pa.string()),
            "document": pa.array(range(first, first + count), pa.int64()),
            "tokens": pa.array(tokens, pa.int64()),
        }
        table = pa.table(columns)
        if self._writer is None and self._path is not None:
            temporary = self._path.with_name(self._path.name + TEMPORARY)
            self._writer = parquet.ParquetWriter(temporary, table.schema, compression="zstd")
        self._writer.write_table(table)
