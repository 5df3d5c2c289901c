"""Corpus roots: a worker reads only below them, whatever a job says."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.stores.urls import is_url, redacted
from bpefleet.shared.trust.url_roots import is_within, url_roots_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MANY: Final = 64
_LONGEST: Final = 1024
"""Bytes of the buffer that macOS needs for a path."""


class ForbiddenPathError(BpefleetError):
    """A job asks for a file outside the worker's corpus roots."""


def roots_of(paths: Iterable[str]) -> list[str]:
    """Few directories, as deep as possible, that hold all of `paths` once links are followed.

    And, of those that are URLs, the folders that they are in.
    """
    paths = list(paths)
    urls = url_roots_of(path for path in paths if is_url(path))
    local = {Path(path).parent for path in paths if not is_url(path)}
    folders = sorted({os.path.realpath(parent) for parent in local})
    roots: dict[str, None] = {}
    for folder in folders:
        if roots.keys().isdisjoint(map(str, Path(folder).parents)):
            roots[folder] = None
    few = [os.path.commonpath(roots)] if len(roots) > _MANY else [*roots]
    return [*few, *urls]


def demand_allowed(path: str, roots: Sequence[str]) -> None:
    """Make sure that a path leads to a place below one of `roots`; if empty, to any place.

    Links are followed first, so that `..` and symbolic links cannot lead elsewhere.

    Raises:
        ForbiddenPathError: It does not, or is no absolute path.
    """
    if is_url(path):
        if not is_within(path, roots):
            raise ForbiddenPathError(
                f"{redacted(path)!r} is outside this worker's corpus roots",
                hint="start the worker with --corpus-root for the place where the sources are",
            )
        return
    if not Path(path).is_absolute():
        raise ForbiddenPathError(f"{path!r} is no absolute path; this worker does not read it")
    try:
        real = os.path.realpath(path)
    except OSError as error:  # what was a link as it was looked at was none as it was read
        raise ForbiddenPathError(
            f"{path!r} changed while its links were followed ({error.strerror})",
            hint="leave the sources alone while they are counted",
        ) from error
    if roots and not _is_below(real, roots):
        raise ForbiddenPathError(
            f"{path!r} is outside this worker's corpus roots",
            hint="start the worker with --corpus-root for the place where the sources are",
        )


def demand_opened(descriptor: int, path: str, roots: Sequence[str]) -> None:
    """Make sure that an open file lies below one of `roots`; if empty, anywhere.

    Since `demand_allowed`, the file or a folder above it may have been replaced by a link.

    Args:
        descriptor: The open file.
        path: The path that was opened.
        roots: The directories that it may lie below.

    Raises:
        ForbiddenPathError: It does not.
        OSError: The system does not say where an open file lies.
    """
    if roots and not _is_below(_place_of(descriptor), roots):
        raise ForbiddenPathError(
            f"{path!r} leads out of the corpus roots by now",
            hint="a link was put in its place; put the file itself there again",
        )


def _place_of(descriptor: int) -> str:
    if hasattr(fcntl, "F_GETPATH"):  # macOS
        place: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(_LONGEST))
        return os.fsdecode(place.rstrip(b"\0"))
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def _is_below(real: str, roots: Sequence[str]) -> bool:
    folders = (os.path.realpath(root) for root in roots if not is_url(root))
    return any(os.path.commonpath([real, folder]) == folder for folder in folders)
