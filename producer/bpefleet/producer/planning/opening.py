"""Opening a source, wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel.opening import opened_file
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from bpefleet.shared.corpus.files import File


def opened_source(
    path: str, version: str = "", size: int | None = None
) -> AbstractContextManager[File]:
    """Open a file of the corpus for reading.

    Args:
        path: Its path or URL.
        version: Of one in a store, what it must be; see `bpefleet.shared.stores.store.Entry`.
        size: Likewise its bytes, if they are known.

    Raises:
        OSError: It is missing, unreadable or no regular file.
        SourceError: Its store cannot be used.
    """
    if not is_url(path):
        return opened_file(path)
    from bpefleet.shared.stores.reading.remote_file import RemoteFile  # noqa: PLC0415  few need it

    return RemoteFile(path, version, size)
