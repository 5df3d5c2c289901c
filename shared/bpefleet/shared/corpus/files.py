"""What readers ask of an open file of the corpus, wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, TypeAlias

    Piece: TypeAlias = bytes | memoryview
    """Some bytes of a file; a view where a store's answer would have to be copied."""


class File(Protocol):
    """An open file: `bpefleet.kernel.opening.LocalFile`, or one in a store."""

    @property
    def size(self) -> int:
        """Its bytes."""

    def pread(self, length: int, offset: int) -> bytes:
        """Some of its bytes: as many as asked for, or fewer at its end, and never none before."""

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """The bytes from `start` to `end` in pieces, none empty; fewer if it ends before."""

    def stream(self) -> BinaryIO:
        """The file from its start, as other libraries read files. It is closed with this one."""
