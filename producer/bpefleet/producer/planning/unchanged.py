"""Whether the corpus is what it was when the run was planned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.shared.errors import SourceChangedError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.planning.sources import SourceFile


def has_changed(file: SourceFile) -> bool:
    """Whether a file is not what was planned.

    Raises:
        OSError: It is gone, or cannot be asked for.
    """
    now = Path(file.path).stat()
    return (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns)


def demand_unchanged(files: Iterable[SourceFile]) -> None:
    """Check that files are what they were.

    Raises:
        SourceError: A file is gone.
        SourceChangedError: A file has another size or time of change.
    """
    for file in files:
        try:
            changed = has_changed(file)
        except OSError as error:
            raise SourceError(f"{file.path}: {error.strerror}") from error
        if changed:
            raise SourceChangedError(
                f"{file.path} has changed since the run was planned",
                hint="start a new run in another directory: counts of two texts never mix",
            )
