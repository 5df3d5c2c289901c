"""Writing files so that they are whole or not there, whatever dies when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TEMPORARY = ".tmp"


def write_atomically(path: Path, *parts: bytes) -> None:
    """Write `parts` to a temporary file, force it to disk, and give it its name.

    Raises:
        OutputError: It cannot be written, for instance because the disk is full; then `path` is
            as it was.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with create(temporary) as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(
            f"{path} cannot be written: {error.strerror}",
            hint="make room or check the permissions",
        ) from error


def create(path: Path) -> BinaryIO:
    """A new file. A link of that name, planted by another user of the folder, is not followed."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "wb")


def sync_folder(folder: Path) -> None:
    """Force a folder's names to disk, so that a rename survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary(folder: Path) -> None:
    """Remove what a crash left half-written in a folder."""
    for path in folder.glob(f"*{TEMPORARY}"):
        path.unlink(missing_ok=True)


def remove_all(paths: Iterable[Path]) -> None:
    """Remove files that may be gone already."""
    for path in paths:
        path.unlink(missing_ok=True)
