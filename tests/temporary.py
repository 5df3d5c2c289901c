"""Where temporary files lie: in memory where there is room, as a disk takes long to force files.

The tests of what forces files lie on a disk.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  pytest makes a private directory in it
ROOM: Final = 4 << 30
"""Bytes. The tests take a few hundred MB; a container that sets nothing has 64 MB."""


def in_memory(folder: str = SHARED_MEMORY, room: int = ROOM) -> str | None:
    """The directory that lies in memory; None where it is missing, small or runs no programs."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    if found.f_bavail * found.f_frsize < room or found.f_flag & os.ST_NOEXEC:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@contextmanager
def on_disk() -> Iterator[Path]:
    """A directory where the system has its temporary files, which is a disk on most machines."""
    with tempfile.TemporaryDirectory(prefix="bpefleet-tests-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()
