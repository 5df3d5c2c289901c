"""An object as readers of all formats take files: read by ranges, ahead of what is asked for."""

from __future__ import annotations

import io
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.failures import changed, gone
from bpefleet.shared.stores.loop import done
from bpefleet.shared.stores.reading.ahead import Ahead
from bpefleet.shared.stores.urls import parsed

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from typing import Self

_PIECE: Final = 1 << 20
_LEAST: Final = 32 << 10
"""Bytes of a request that follows on no other: what is asked for next is often near."""
_NEAR: Final = 1 << 20
"""Bytes that may lie between two reads of which the second follows on the first."""
_NARROWEST: Final = 2 << 20
_WIDEST: Final = 1 << 30
"""Bytes that are asked for ahead where reads follow on each other: twice as many each time, so that
no more is asked for in vain, past the end of a table's column, than was of use.
"""
_RECENT: Final = 4
"""Requests whose bytes are kept."""


class RemoteFile:
    """An object, read as `bpefleet.shared.corpus.files.File`.

    Args:
        url: Where it is.
        version: What it must be, see `store.Entry`; empty for any.
        size: Its bytes; None to ask for them when they are needed.
    """

    def __init__(self, url: str, version: str = "", size: int | None = None) -> None:
        self._location = parsed(url)
        self._store = store_of(self._location)
        self._version = version
        self._size = size
        self._recent: deque[tuple[int, memoryview]] = deque(maxlen=_RECENT)
        self._ahead = Ahead(url, self._read, ())
        self._end = -1
        """Where what was asked for last ends."""
        self._window = _NARROWEST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ahead.close()

    @property
    def size(self) -> int:
        """Its bytes.

        Raises:
            SourceChangedError: It is not what it must be.
        """
        if self._size is None:
            entry = done(self._store.head(self._location))
            if entry is None or (self._version and entry.version != self._version):
                raise (changed if self._version else gone)(self._location)
            self._size = entry.size
        return self._size

    def pread(self, length: int, offset: int) -> bytes:
        """Some of its bytes: as many as asked for, or fewer at its end, and never none before."""
        end = min(offset + length, self.size)
        found: list[bytes] = []
        while offset < end:
            start, data = self._part(offset, end)
            found.append(bytes(data[offset - start : end - start]))
            offset += len(found[-1])
        return found[0] if len(found) == 1 else b"".join(found)

    def pieces(self, start: int, end: int) -> Iterator[memoryview]:
        """The bytes from `start` to `end` in pieces, none empty: those of the store's answers."""
        if not self._ahead.begins(start):
            self.expect([(start, end)])
        for data in self._ahead:
            for at in range(0, min(len(data), end - start), _PIECE):
                yield data[at : min(at + _PIECE, end - start)]
            start += len(data)
            if start >= end:
                return

    def expect(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Say what is read next, in this order, so that it is asked for before."""
        self._ahead.close()
        self._ahead = Ahead(self._location.url, self._read, ranges)

    def stream(self) -> BinaryIO:
        """The file from its start, as other libraries read files."""
        return cast("BinaryIO", _Stream(self))

    def _read(self, start: int, end: int) -> Coroutine[Any, Any, Any]:
        return self._store.read(self._location, start, end, self._version)

    def _part(self, offset: int, end: int) -> tuple[int, memoryview]:
        """A part of it that begins at or before `offset` and goes on after it."""
        for start, data in self._recent:
            if start <= offset < start + len(data):
                return start, data
        if not self._ahead.covers(offset):
            follows = 0 <= offset - self._end <= _NEAR
            self._window = min(2 * self._window, _WIDEST) if follows else _NARROWEST
            if not follows:
                self._end = min(self.size, max(end, offset + _LEAST))
                found = b"".join(Ahead(self._location.url, self._read, [(offset, self._end)]))
                self._recent.append((offset, memoryview(found)))
                return self._recent[-1]
            self._end = min(self.size, max(end, offset + self._window))
            self.expect([(offset, self._end)])
        while True:
            start, data = self._ahead.next()
            if start <= offset < start + len(data):
                self._recent.append((start, data))
                return start, data


class _Stream(io.RawIOBase):
    """An object as a file of Python's."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        self._at = max(0, (self._file.size if base is None else base) + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        length = self._file.size - self._at if size is None or size < 0 else size
        data = self._file.pread(length, self._at)
        self._at += len(data)
        return data

    def readinto(self, room: Any) -> int:
        data = self.read(len(room))
        room[: len(data)] = data
        return len(data)
