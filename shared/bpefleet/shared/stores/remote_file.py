"""Reading an object by ranges, ahead of what is asked for, so that whoever counts never waits."""

from __future__ import annotations

import io
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from bpefleet.shared.stores.failures import changed, gone
from bpefleet.shared.stores.loop import begun, done
from bpefleet.shared.stores.store import store_of
from bpefleet.shared.stores.urls import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future
    from typing import Self

_PART: Final = 4 << 20
"""Bytes of a request: enough that what a request costs beside them is little."""
_AHEAD: Final = 8
"""Requests under way together: as many as keep a core busy that counts 400 MB/s, where each takes a
tenth of a second to begin and brings 50 MB/s.
"""
_PIECE: Final = 1 << 20
_LEAST: Final = 32 << 10
"""Bytes of a request that follows on no other: what is asked for next is often near."""
_NEAR: Final = 1 << 20
"""Bytes that may lie between two reads of which the second follows on the first."""
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
        self._expected: Iterator[tuple[int, memoryview]] = iter(())
        self._left: deque[tuple[int, int]] = deque()
        """What of the expected ranges is still to come."""
        self._end = -1
        """Where the last request ended that was not expected."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.expect(())

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

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to `end` in pieces, none empty."""
        for _, data in self._parts([(start, end)]):
            for at in range(0, len(data), _PIECE):
                yield bytes(data[at : at + _PIECE])

    def expect(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Say what is read next, in this order, so that it is asked for before."""
        self._expected.close() if hasattr(self._expected, "close") else None
        self._left = deque(_cut(ranges))
        self._expected = self._parts(list(self._left))

    def stream(self) -> BinaryIO:
        """The file from its start, as other libraries read files."""
        return cast("BinaryIO", _Stream(self))

    def _part(self, offset: int, end: int) -> tuple[int, memoryview]:
        """A part of it that begins at or before `offset` and goes on after it."""
        for start, data in self._recent:
            if start <= offset < start + len(data):
                return start, data
        if not any(start <= offset < stop for start, stop in self._left):
            if 0 <= offset - self._end <= _NEAR:  # it is read from one end to the other
                self.expect([(offset, self.size)])
            else:
                self._end = min(self.size, max(end, offset + _LEAST))
                found = b"".join(bytes(data) for _, data in self._parts([(offset, self._end)]))
                self._recent.append((offset, memoryview(found)))
                return self._recent[-1]
        while True:
            start, data = next(self._expected)
            self._left.popleft()
            if offset < start + len(data) and start <= offset:
                self._recent.append((start, data))
                return start, data

    def _parts(self, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, memoryview]]:
        """The bytes of ranges, with where they begin, some of them asked for ahead."""
        under_way: deque[tuple[int, Future[Any]]] = deque()
        try:
            for start, end in _cut(ranges):
                read = self._store.read(self._location, start, end, self._version)
                under_way.append((start, begun(read)))
                if len(under_way) == _AHEAD:
                    yield _taken(under_way)
            while under_way:
                yield _taken(under_way)
        finally:
            for _, future in under_way:
                future.cancel()


def _taken(under_way: deque[tuple[int, Future[Any]]]) -> tuple[int, memoryview]:
    start, future = under_way[0]
    data = memoryview(future.result())
    under_way.popleft()
    return start, data


def _cut(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in ranges:
        for at in range(start, end, _PART):
            yield at, min(end, at + _PART)


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
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}
        self._at = max(0, base[whence] + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        length = self._file.size - self._at if size is None or size < 0 else size
        data = self._file.pread(length, self._at)
        self._at += len(data)
        return data
