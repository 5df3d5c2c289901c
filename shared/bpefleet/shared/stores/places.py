"""Where workers write what is too large for Redis: a folder that all see, or a store."""

from __future__ import annotations

import io
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

from bpefleet.shared.errors import OutputError, SourceError
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


class Place(Protocol):
    """Holds files, each whole or not there. Names may have a folder: `pieces/00000001`."""

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A new file, which takes the place of one of that name once the block has ended well.

        Raises:
            OutputError: It cannot be written.
            SourceError: A store refuses, or does not answer.
        """

    def size(self, name: str) -> int | None:
        """Bytes of a file; None if there is none of that name."""

    def read(self, name: str, most: int) -> bytes:
        """A whole file.

        Raises:
            SourceError: There is none, it cannot be read, or has more than `most` bytes.
        """

    def opened(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file for reading, anywhere in it. Raises as `read`."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there. Raises as `writing`."""


def place_of(folder: str) -> Place:
    """The place that an absolute path or a URL names."""
    return Bucket(folder) if is_url(folder) else Folder(Path(folder))


class Folder:
    """A folder, which is there, with the folders that names have."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """See `Place`: synced to disk, with its folder."""
        path = self._folder / name
        # Two attempts at the same chunk may be at it at once.
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            with _told(path):
                file = _create(temporary)
            with file:
                yield cast("BinaryIO", _Writer(file, path))
                with _told(path):
                    file.flush()
                    os.fsync(file.fileno())
                    temporary.replace(path)
                    _sync_folder(path.parent)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def size(self, name: str) -> int | None:
        """See `Place`."""
        try:
            return (self._folder / name).stat().st_size
        except OSError:
            return None

    def read(self, name: str, most: int) -> bytes:
        """See `Place`."""
        with self.opened(name) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise SourceError(f"{self._folder / name} is larger than {most:,} bytes")
        return data

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """See `Place`."""
        path = self._folder / name
        try:
            file = path.open("rb")
        except OSError as error:
            raise SourceError(f"cannot read {path}: {error.strerror}") from error
        with file:
            yield file

    def remove(self, name: str) -> None:
        """See `Place`."""
        (self._folder / name).unlink(missing_ok=True)


class _Writer(io.RawIOBase):
    """Writes to a file that is being made; only its own errors are told as such."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def write(self, data: Any) -> int:
        with _told(self._path):
            return self._file.write(data)


def _create(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb", buffering=1 << 16)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror}",
            hint="make room or check the permissions; every worker must see the folder under the "
            "same path",
        ) from error


class Bucket:
    """The beginning of names in a store. What is written is held in memory until it is whole."""

    def __init__(self, url: str) -> None:
        """Prepare to read and write below a URL.

        Raises:
            UsageError: See `connect.store_of`, `writing.demand_writable`.
        """
        from bpefleet.shared.stores.connect import store_of  # noqa: PLC0415  an extra
        from bpefleet.shared.stores.writing import demand_writable  # noqa: PLC0415  likewise

        store_of(demand_writable(url))
        self._url = url.rstrip("/")

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """See `Place`."""
        from bpefleet.shared.stores.writing import put  # noqa: PLC0415  an extra

        file = io.BytesIO()
        yield file
        put(f"{self._url}/{name}", file.getvalue())

    def size(self, name: str) -> int | None:
        """See `Place`."""
        from bpefleet.shared.stores.writing import head  # noqa: PLC0415  an extra

        found = head(f"{self._url}/{name}")
        return None if found is None else found.size

    def read(self, name: str, most: int) -> bytes:
        """See `Place`."""
        with self.opened(name) as file:
            return file.read(most)

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """See `Place`."""
        from bpefleet.shared.stores.reading.remote_file import RemoteFile  # noqa: PLC0415  an extra
        from bpefleet.shared.stores.writing import head  # noqa: PLC0415  likewise

        if (found := head(f"{self._url}/{name}")) is None:
            raise SourceError(f"{self._url}/{name} is not there")
        with RemoteFile(found.location.url, found.version) as file:
            yield file.stream()

    def remove(self, name: str) -> None:
        """See `Place`."""
        from bpefleet.shared.stores.writing import delete  # noqa: PLC0415  an extra

        delete(f"{self._url}/{name}")
