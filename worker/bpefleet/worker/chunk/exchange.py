"""The exchanges that this process and its work-horses may use, set once at the start.

A job names one. A worker writes where it was told at its start that it may, and nowhere else: below
that, files of one form of name in the folder of the job's own run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.stores.urls import redacted
from bpefleet.shared.trust.roots import ForbiddenPathError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.exchange.place import Exchange

_allowed: tuple[str, ...] = ()


def allow(places: Iterable[str]) -> None:
    """Let this process and its children use these exchanges, and no others."""
    global _allowed  # noqa: PLW0603  as in `corpus`
    _allowed = tuple(places)


def allowed_exchange(place: str, run: str) -> Exchange:
    """The exchange that a job names.

    Raises:
        ForbiddenPathError: This worker may not use it.
        UsageError: Nothing here can write to such a URL.
    """
    if place not in _allowed:
        raise ForbiddenPathError(
            f"{redacted(place)!r} is no exchange of this worker",
            hint="start the worker with --exchange for the place that the run was given",
        )
    return exchange_at(place, run)
