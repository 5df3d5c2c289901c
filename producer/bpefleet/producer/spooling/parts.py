"""The parts of a spool: files compressed with zstd, each written whole or not there."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.producer.files.atomic import TEMPORARY, create, sync_folder, unwritable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

_LEVEL: Final = 1
"""Of zstd. Whoever makes the documents waits for it, and the spool is removed in the end."""


class Parts:
    """Writes parts, one after the other.

    Attributes:
        paths: Those that are whole.
        stored: Bytes of them.
    """

    def __init__(self, folder: Path, ending: str) -> None:
        """Prepare to write `part-00000` and so on into a folder.

        Args:
            folder: It must be there.
            ending: Of the names, without that of the compression: `jsonl`.
        """
        self.paths: list[Path] = []
        self.stored = 0
        self._folder = folder
        self._ending = ending
        self._file: BinaryIO | None = None
        self._compressor = zstd.ZstdCompressor()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._temporary.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Add to the part that is being written, or begin one.

        Raises:
            OutputError: It cannot be written.
        """
        try:
            if self._file is None:
                self._begin()
            if self._file is not None:
                self._file.write(self._compressor.compress(data))
        except OSError as error:
            raise unwritable(self._path, error) from error

    def end(self) -> Path | None:
        """End the part that is being written, if there is one, and sync it to disk.

        Returns:
            Where it is.

        Raises:
            OutputError: It cannot be written.
        """
        if self._file is None:
            return None
        path = self._path
        try:
            with self._file as file:
                file.write(self._compressor.flush())
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            self._temporary.replace(path)
            sync_folder(self._folder)
        except OSError as error:
            raise unwritable(self._path, error) from error
        self.stored += size
        self.paths.append(path)
        self._file = None
        return path

    def _begin(self) -> None:
        self._file = create(self._temporary)
        options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: _LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        self._compressor = zstd.ZstdCompressor(options=options)

    @property
    def _path(self) -> Path:
        return part(self._folder, len(self.paths), self._ending)

    @property
    def _temporary(self) -> Path:
        return self._path.with_name(self._path.name + TEMPORARY)


def part(folder: Path, index: int, ending: str) -> Path:
    """The path of a part."""
    return folder / f"part-{index:05}.{ending}.zst"
