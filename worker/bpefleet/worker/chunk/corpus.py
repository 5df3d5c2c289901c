"""The corpus roots of this process and its work-horses, set once at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.trust.roots import demand_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.wire.messages import Segment

_roots: tuple[str, ...] = ()


def confine(roots: Iterable[str]) -> None:
    """Let this process and its children read only below `roots`; if empty, anywhere."""
    global _roots  # noqa: PLW0603  a process has one answer, and RQ's jobs no other way to it
    _roots = tuple(roots)


def roots() -> tuple[str, ...]:
    """The directories that this process may read below; empty for any."""
    return _roots


def demand_within_roots(segments: Iterable[Segment]) -> None:
    """Make sure that all sources of a chunk lie below the corpus roots.

    Raises:
        ForbiddenPathError: One does not.
    """
    for path in {segment.path for segment in segments}:
        demand_allowed(path, _roots)
