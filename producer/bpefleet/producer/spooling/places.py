"""Where the parts of a spool lie: in a folder, or in a store."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import BinaryIO, Protocol

from bpefleet.producer.files.atomic import TEMPORARY, create, sync_folder, unwritable
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.shared.stores.urls import is_url


class Place(Protocol):
    """Takes parts."""

    def begin(self, name: str) -> BinaryIO:
        """Where a part is written to. Raises as `keep`."""

    def keep(self, name: str, file: BinaryIO, form: str, text: int) -> SourceFile:
        """Keep a part that is written, whole and for good.

        Raises:
            OutputError: It cannot be written.
            SourceError: A store refuses, or does not answer.
        """

    def drop(self, name: str, file: BinaryIO) -> None:
        """Give up a part."""


def place_of(folder: str) -> Place:
    """The place that a folder or a URL names."""
    return Bucket(folder) if is_url(folder) else Folder(Path(folder))


class Folder:
    """A folder, which is there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, name: str) -> BinaryIO:
        """See `Place`."""
        try:
            return create(self._temporary(name))
        except OSError as error:
            raise unwritable(self._folder / name, error) from error

    def keep(self, name: str, file: BinaryIO, form: str, text: int) -> SourceFile:
        """See `Place`: synced to disk, with its folder."""
        path = self._folder / name
        try:
            with file:
                file.flush()
                os.fsync(file.fileno())
            self._temporary(name).replace(path)
            sync_folder(self._folder)
            found = path.stat()
        except OSError as error:
            raise unwritable(path, error) from error
        return SourceFile(str(path), found.st_size, found.st_mtime_ns, form, expected=text)

    def drop(self, name: str, file: BinaryIO) -> None:
        """See `Place`."""
        file.close()
        self._temporary(name).unlink(missing_ok=True)

    def _temporary(self, name: str) -> Path:
        return self._folder / f"{name}{TEMPORARY}"


class Bucket:
    """The beginning of names in a store. A part is held in memory until it is whole."""

    def __init__(self, url: str) -> None:
        """Prepare to write below a URL.

        Raises:
            UsageError: See `connect.store_of`, `writing.demand_writable`.
        """
        from bpefleet.shared.stores.connect import store_of  # noqa: PLC0415  an extra
        from bpefleet.shared.stores.writing import demand_writable  # noqa: PLC0415  likewise

        store_of(demand_writable(url))
        self._url = url

    def begin(self, name: str) -> BinaryIO:  # noqa: ARG002
        """See `Place`."""
        return io.BytesIO()

    def keep(self, name: str, file: BinaryIO, form: str, text: int) -> SourceFile:
        """See `Place`."""
        from bpefleet.shared.stores.writing import put  # noqa: PLC0415  an extra

        file.seek(0)
        entry = put(f"{self._url}/{name}", file.read())
        url, version = entry.location.url, entry.version
        return SourceFile(url, entry.size, 0, form, expected=text, version=version)

    def drop(self, name: str, file: BinaryIO) -> None:
        """See `Place`."""
