"""Files of a run directory, written completely or not at all, whatever crashes when.

Only regular files are read: a link leads elsewhere, and a FIFO has no end.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.shared.errors import OutputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TEMPORARY: Final = ".tmp"
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+:/")
"""How one begins as a path, which has no two slashes in a row."""


def demand_local(path: Path) -> None:
    """Check that what is to be written is named by a path.

    Raises:
        UsageError: It is a URL, of which the file system would make a folder here; or the path is
            not UTF-8.
    """
    if _URL.match(str(path)):
        raise UsageError(
            f"{path} is a URL, and this is written to a path of this machine",
            hint="name a path, and copy what is there then; "
            "encode --shards, --spool and --exchange take URLs",
        )
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{str(path.absolute())!r} is not UTF-8, and jobs and files carry names as text",
            hint="choose another directory",
        ) from error


def write_atomically(path: Path, *parts: bytes) -> None:
    """Write `parts` to a temporary file, sync it to disk, and rename it.

    Raises:
        OutputError: As `replacing`.
    """
    with replacing(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file to be written, which is then synced to disk and renamed to `path`.

    Raises:
        OutputError: It cannot be written, for instance because the disk is full; then `path` is
            as it was, as after any other exception in the block. Or the folder cannot be synced to
            disk, which the text says; then `path` has its new content, which a power cut may undo.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with create(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):  # it may be a folder that somebody put there
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(path, error) from error
        raise
    try:
        sync_folder(path.parent)
    except OSError as error:
        what = f"{path} is written, but its folder cannot be forced to disk: {error.strerror}"
        raise OutputError(what, hint="check the disk") from error


def unwritable(path: Path | str, error: OSError) -> OutputError:
    """The error for a file that cannot be written."""
    is_lost = isinstance(error, FileNotFoundError)
    hint = "make its folder first" if is_lost else "make room or check the permissions"
    return OutputError(f"{path} cannot be written: {error.strerror}", hint=hint)


def create(path: Path) -> BinaryIO:
    """Create a new file. It does not follow a link that another user put there."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Open a regular file, and nothing else. Returns its descriptor.

    Args:
        path: The file.
        flags: As for `os.open`.
        mode: The mode of a file that is made.

    Raises:
        OSError: It cannot be opened, or is a link, a FIFO, a device.
    """
    # Does not wait for the other end of a FIFO. The flag does nothing to regular files.
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a FIFO or a socket, to write to
            raise _irregular(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _irregular(path)
    return descriptor


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "not a regular file", str(path))


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    Raises:
        OSError: As `open_regular`.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        yield file


def read_whole(path: Path, most: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: As `open_regular`, or it has more than `most` bytes.
    """
    with reading(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
        return file.read(most)


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that a rename survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary(folder: Path) -> None:
    """Remove what a crash left half-written in a folder."""
    remove_all(folder.glob(f"*{TEMPORARY}"))


def remove_all(paths: Iterable[Path]) -> None:
    """Remove files that may be gone already."""
    for path in paths:
        path.unlink(missing_ok=True)
