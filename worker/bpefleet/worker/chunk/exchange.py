"""The exchanges that this process and its work-horses may use, set once at the start.

A job names one. A worker writes where it was told at its start that it may, and nowhere else: below
that, files of one form of name in the folder of the job's own run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import FullError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.stores.urls import redacted
from bpefleet.shared.trust.roots import ForbiddenPathError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.worker.chunk.stages import Stages

_allowed: tuple[str, ...] = ()

_PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait for room before each further try; then the worker is free for other jobs, which
may make room, until the producer asks again.
"""


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


def leave(exchange: Exchange, name: str, data: bytes | Path, stages: Stages) -> None:
    """Leave a file in an exchange. If that is full, wait for a while.

    Raises:
        FullError: It is still full.
        StoreError: It fails.
    """
    for pause in _PAUSES:
        try:
            return exchange.put(name, data)
        except FullError:
            with stages.stage("wait for room in the exchange"):
                time.sleep(pause)
    return exchange.put(name, data)
