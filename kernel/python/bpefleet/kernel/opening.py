"""Opening a file of the corpus: what it is, and where it lies, is asked of what was opened."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

_PIECE: Final = 1 << 20
"""Bytes of a piece of a file that is read from one end to the other."""


class LocalFile:
    """An open file of this machine, as readers of all formats take it; others lie in stores."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def facts(self) -> os.stat_result:
        """What the system says of the file."""
        return os.fstat(self._descriptor)

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.facts.st_size

    def pread(self, length: int, offset: int) -> bytes:
        """Some of its bytes: as many as asked for, or fewer at its end, and never none before."""
        # A network file system may give less at once than asked for.
        found = os.pread(self._descriptor, length, offset)
        while 0 < len(found) < length:
            more = os.pread(self._descriptor, length - len(found), offset + len(found))
            if not more:
                break
            found += more
        return found

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """The bytes from `start` to `end` in pieces, none empty; fewer if it ends before."""
        while start < end and (
            piece := os.pread(self._descriptor, min(_PIECE, end - start), start)
        ):
            yield piece
            start += len(piece)

    def stream(self) -> BinaryIO:
        """The file from its start, as other libraries read files. Closing it closes nothing."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(self._descriptor, "rb", closefd=False)


@contextmanager
def opened(path: str, admit: Callable[[int, str], object] | None = None) -> Iterator[int]:
    """Open a regular file for reading: the block has its descriptor.

    Asked of a path beforehand, the answer may be wrong by the time that it is opened.

    Args:
        path: The file; links are followed.
        admit: Called with the descriptor and `path` before anything is read. What it raises goes to
            the caller.

    Raises:
        OSError: It is missing, unreadable or no regular file, or reading it in the block failed;
            `filename` is set.
    """
    try:
        # Opening a FIFO would otherwise wait until somebody writes to it.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if admit is not None:
                admit(file, path)
            mode = os.fstat(file).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "Not a regular file")
            yield file
        finally:
            os.close(file)
    except OSError as error:
        error.filename = path  # reading by number, the system does not know the name
        raise


@contextmanager
def opened_file(
    path: str, admit: Callable[[int, str], object] | None = None
) -> Iterator[LocalFile]:
    """The same, but the block has a `LocalFile`."""
    with opened(path, admit) as descriptor:
        yield LocalFile(descriptor)
