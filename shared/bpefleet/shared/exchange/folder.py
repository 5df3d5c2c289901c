"""An exchange in a folder that all see."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import FullError, StoreError
from bpefleet.shared.exchange import names as names_
from bpefleet.shared.exchange.lost import LostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from typing_extensions import Buffer

_TEMPORARY: Final = ".tmp"
_BLOCK: Final = 1 << 20
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """A run's files in a folder; see `place.Exchange`.

    All names are resolved below an open folder, and no link is followed: who can write there can
    lead nobody elsewhere. The producer alone makes the folder, so that one that is not there tells
    of a place that is not mounted, or is another than the producer's.

    Nothing is forced to disk: what a power cut takes away is counted again, and what stays is
    forced to disk in the run directory.
    """

    def __init__(self, place: Path, run: str) -> None:
        names_.checked(run)
        self._place = place
        self._run = run

    def begin(self) -> None:
        """See `place.Exchange`."""
        with self._explained(""), suppress(FileExistsError):
            (self._place / self._run).mkdir()  # with the user's rights: workers may be others

    def put(self, name: str, data: bytes | Path) -> None:
        """See `place.Exchange`."""
        names_.checked(self._run, name)
        with self._explained(name), self._opened() as folder:
            temporary = name + _TEMPORARY
            try:
                with os.fdopen(os.open(temporary, _NEW, 0o666, dir_fd=folder), "wb") as file:
                    if isinstance(data, bytes):
                        file.write(data)
                    else:
                        with data.open("rb") as other:
                            shutil.copyfileobj(other, file, _BLOCK)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def in_place(self, name: str, size: int) -> Path:
        """See `place.Exchange`. Whoever reads it there follows no link in its place, either."""
        path = self._place / self._run / name
        if not self.has(name, size):
            raise LostError(f"{path} is gone, or has another size")
        return path

    def blocks(self, name: str, size: int) -> Iterator[Buffer]:
        """See `place.Exchange`."""
        names_.checked(self._run, name)
        path = self._place / self._run / name
        with self._explained(name), self._opened() as folder:
            try:
                descriptor = os.open(name, _OLD, dir_fd=folder)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ELOOP):
                    raise
                raise LostError(f"{path} is gone") from None
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                facts = os.fstat(descriptor)
                if not stat.S_ISREG(facts.st_mode) or facts.st_size != size:
                    raise LostError(f"{path} has another size")
                while size:
                    if not (block := file.read(min(size, _BLOCK))):
                        raise LostError(f"{path} was cut off")
                    size -= len(block)
                    yield block

    def has(self, name: str, size: int) -> bool:
        """See `place.Exchange`."""
        names_.checked(self._run, name)
        with self._explained(name), self._opened() as folder:
            try:
                facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return False
        return stat.S_ISREG(facts.st_mode) and facts.st_size == size

    def delete(self, names: Iterable[str]) -> None:
        """See `place.Exchange`."""
        for name in names:
            names_.checked(self._run, name)
            with self._explained(name), self._opened() as folder, suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)

    def clear(self) -> None:
        """See `place.Exchange`; with the run's own folder, if nothing of others is in it."""
        with self._explained(""), suppress(FileNotFoundError, NotADirectoryError):
            folder = os.open(self._place / self._run, _FOLDER)
            try:
                for name in os.listdir(folder):  # noqa: PTH208  of an open folder
                    if names_.is_file(name.removesuffix(_TEMPORARY)):
                        with suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)
            with suppress(OSError):  # somebody else's file is in it
                (self._place / self._run).rmdir()

    def forsaken(self, since: float) -> list[str]:
        """See `place.Exchange`."""
        found: list[str] = []
        with self._explained(""):
            for path in self._place.iterdir():
                if path.name == self._run or not names_.is_run(path.name):
                    continue
                with suppress(OSError):  # it is being removed, or is none
                    facts = path.lstat()
                    if stat.S_ISDIR(facts.st_mode) and facts.st_mtime < since:
                        found += [str(path)] if _is_ours(path) else []
        return sorted(found)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        folder = os.open(self._place / self._run, _FOLDER)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise FullError(f"the exchange {self._place} is full", hint="make room") from error
            what = error.strerror
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                what = "a link, or no folder, is in its place"
            raise StoreError(
                f"the exchange fails at {self._place / self._run / name}: {what}",
                hint="check the permissions, or mount it; then go on with resume",
            ) from error


def _is_ours(folder: Path) -> bool:
    """Whether a folder has files of an exchange, and no others."""
    names = [each.name for each in folder.iterdir()]
    return bool(names) and all(names_.is_file(name.removesuffix(_TEMPORARY)) for name in names)
