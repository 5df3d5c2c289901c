"""Whether the corpus is what it was when the run was planned."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.shared.errors import SourceChangedError, SourceError
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.planning.columns.files import Files
    from bpefleet.producer.planning.columns.source_file import SourceFile


def changed_file(files: Iterable[SourceFile]) -> SourceFile | None:
    """The first of some files that is not what was planned.

    Raises:
        OSError: One is gone, or cannot be asked for.
        SourceError: Likewise, of an object in a store.
    """
    remote = []
    for file in files:
        if is_url(file.path):
            remote.append(file)
            continue
        now = Path(file.path).stat()
        if (now.st_size, now.st_mtime_ns) != (file.size, file.mtime_ns):
            return file
    if not remote:
        return None
    from bpefleet.shared.stores.listing import as_they_are  # noqa: PLC0415  few need it

    for file, entry in zip(remote, as_they_are(file.path for file in remote), strict=True):
        if entry is None or (entry.size, entry.version) != (file.size, file.version):
            return file
    return None


def demand_unchanged(files: Files) -> None:
    """Check that files are what they were.

    Raises:
        SourceError: A file is gone.
        SourceChangedError: A file has another size, time of change or version.
    """
    try:
        changed = _changed_path(files)
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from error
    if changed is not None:
        raise SourceChangedError(
            f"{changed} has changed since the run was planned",
            hint="start a new run in another directory: counts of two texts never mix",
        )


def _changed_path(files: Files) -> str | None:
    """The path of the first file that is not what was planned: of a million in some seconds."""
    for path, size, changed in files.facts():
        now = os.stat(path)  # noqa: PTH116  a Path for each takes as long
        if now.st_size != size or now.st_mtime_ns != changed:
            return path
    remote = [file for file in files if is_url(file.path)] if files.has_remote else []
    found = changed_file(remote)
    return found.path if found else None
