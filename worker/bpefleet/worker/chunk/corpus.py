"""Where this process and its work-horses may read and write, set once at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.trust.roots import ForbiddenPathError, demand_allowed
from bpefleet.shared.wire.encoding import PIECES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.wire.messages import Segment

_roots: tuple[str, ...] = ()
_outputs: tuple[str, ...] = ()


def confine(roots: Iterable[str], outputs: Iterable[str] = ()) -> None:
    """Let this process and its children read only below `roots`; if empty, anywhere.

    And write only below `outputs`; if empty, nowhere.
    """
    # A process has one answer, and RQ's jobs no other way to it.
    global _roots, _outputs  # noqa: PLW0603
    _roots = tuple(roots)
    _outputs = tuple(outputs)


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


def demand_output(place: str) -> None:
    """Make sure that a place lies below the output roots.

    Raises:
        ForbiddenPathError: It does not, be it through a link.
    """
    try:
        # Without roots it would be allowed everywhere.
        demand_allowed(f"{place.rstrip('/')}/{PIECES}", _outputs or ("/nowhere",))
    except ForbiddenPathError:
        what = "URL" if is_url(place) else "folder"
        raise ForbiddenPathError(
            f"this worker does not write to {place!r}: start it with --output-root for that {what}"
        ) from None
