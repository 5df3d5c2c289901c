"""The parts of a spool: files compressed with zstd, each written whole or not there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.producer.files.atomic import unwritable
from bpefleet.producer.spooling.places import place_of
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.corpus.spooled import lines_name

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from bpefleet.producer.planning.columns.source_file import SourceFile

_LEVEL: Final = 1
"""Of zstd. Whoever makes the documents waits for it, and the spool is removed in the end."""


class Parts:
    """Writes parts, one after the other.

    Attributes:
        stored: Bytes of those that are whole.
    """

    def __init__(self, folder: str, kind: str, *, lines: bool = False) -> None:
        """Prepare to write `part-00000` and so on.

        Args:
            folder: A path, which is there, or a URL.
            kind: Their format, without the compression.
            lines: Whether their names tell which lines of the input they hold.
        """
        self._lines = lines
        self._before = 0
        self.stored = 0
        self._written = 0
        self._kind = kind
        self._folder = folder
        self._place = place_of(folder)
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
            self._place.drop(self._name, self._file)

    def write(self, data: bytes) -> None:
        """Add to the part that is being written, or begin one.

        Raises:
            OutputError: It cannot be written.
        """
        if self._file is None:
            self._file = self._begin()
        self._add(self._compressor.compress(data))

    def end(self, text: int, documents: int) -> SourceFile | None:
        """End the part that is being written, if there is one, and keep it.

        Args:
            text: Bytes of text in it.
            documents: Documents, or lines, in it and all before it.

        Returns:
            The part.

        Raises:
            OutputError: It cannot be written.
            SourceError: The store that it is in refuses, or does not answer.
        """
        if self._file is None:
            return None
        self._add(self._compressor.flush())
        part = self._place.keep(self._name, self._file, f"{self._kind}+zstd", text)
        self.stored += part.size
        self._written += 1
        self._before = documents
        self._file = None
        return part

    def _begin(self) -> BinaryIO:
        options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: _LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        self._compressor = zstd.ZstdCompressor(options=options)
        return self._place.begin(self._name)

    def _add(self, data: bytes) -> None:
        try:
            if self._file is not None:
                self._file.write(data)
        except OSError as error:
            raise unwritable(f"{self._folder}/{self._name}", error) from error

    @property
    def _name(self) -> str:
        if self._lines:
            return lines_name(self._written, self._before)
        return part_name(self._written, self._kind)


def part_name(index: int, kind: str) -> str:
    """The name of a part of a spool of this format."""
    return f"part-{index:05}.{'txt' if kind == TEXT else kind}.zst"
