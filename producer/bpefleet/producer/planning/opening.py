"""Opening a source, wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel.opening import opened_file

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from bpefleet.shared.corpus.files import File


def opened_source(path: str) -> AbstractContextManager[File]:
    """Open a file of the corpus for reading.

    Raises:
        OSError: It is missing, unreadable or no regular file.
    """
    return opened_file(path)
