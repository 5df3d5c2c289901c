"""Opening a file of the corpus: what it is, and where it lies, is asked of what was opened."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
            _demand_regular(file)
            yield file
        finally:
            os.close(file)
    except OSError as error:
        error.filename = path  # reading by number, the system does not know the name
        raise


def _demand_regular(file: int) -> None:
    mode = os.fstat(file).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file")
