"""Where sources may lie: a worker reads below its corpus roots only, whatever a job says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import BpefleetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MANY: Final = 64


class ForbiddenPathError(BpefleetError):
    """A job asks for a file outside the worker's corpus roots."""


def roots_of(paths: Iterable[str]) -> list[str]:
    """Directories that hold all of `paths`, links followed: few, and as deep as that allows."""
    folders = sorted({os.path.realpath(Path(path).parent) for path in paths})
    roots: list[str] = []
    for folder in folders:
        if not any(_is_below(folder, root) for root in roots):
            roots.append(folder)
    return [os.path.commonpath(roots)] if len(roots) > _MANY else roots


def demand_allowed(path: str, roots: Sequence[str]) -> None:
    """Make sure that a path leads to a place below one of `roots`; none allows any.

    Links are followed first, so `..` and symbolic links lead nowhere else.

    Raises:
        ForbiddenPathError: It does not, or is no absolute path.
    """
    if not Path(path).is_absolute():
        raise ForbiddenPathError(f"{path!r} is no absolute path; this worker does not read it")
    real = os.path.realpath(path)
    if roots and not any(_is_below(real, os.path.realpath(root)) for root in roots):
        raise ForbiddenPathError(
            f"{path!r} is outside this worker's corpus roots",
            hint="start the worker with --corpus-root for the place where the sources are",
        )


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root
