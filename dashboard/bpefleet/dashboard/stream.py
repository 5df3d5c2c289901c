"""Sends pages what has changed, as server-sent events."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.dashboard.reading.found import Asked, found
from bpefleet.dashboard.reading.poller import WORKERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bpefleet.dashboard.reading.poller import Poller
    from bpefleet.dashboard.reading.view import Parts

_SIGN_OF_LIFE: Final = 15.0


class Changes:
    """Remembers what one page was sent, and finds what it lacks."""

    def __init__(self) -> None:
        self._sent: Parts = {}

    def since_last(self, parts: Parts) -> Parts:
        """The parts that differ from those of the last call; a part that is gone is None."""
        changed = {n: part for n, part in parts.items() if self._sent.get(n) != part}
        changed |= {n: None for n in self._sent if n not in parts}
        if "series" in changed and changed["series"] is not None:
            changed["series"] = _longer(self._sent.get("series") or [], changed["series"])
        self._sent = parts
        return changed


def _longer(old: list[Any], new: list[Any]) -> dict[str, Any]:
    """A course as what to keep of the last one and what to add: it mostly grows by a point."""
    keep = len(old) if new[: len(old)] == old else 0
    return {"keep": keep, "add": new[keep:]}


def of_all(poller: Poller) -> Parts:
    """What a page that lists all runs shows."""
    heads = {f"run {run}": view.head for run, view in poller.views.items()}
    return {"problem": poller.problem, "order": list(poller.views), **heads}


def of_workers(poller: Poller, asked: Asked) -> Parts:
    """What a page that lists workers shows."""
    names = {run: view.snapshot.name for run, view in poller.views.items()}
    return {"problem": poller.problem, **found(poller.workers, asked), "names": names}


def of_run(poller: Poller, run: str) -> Parts:
    """What the page of a run shows; no `head` if there is no such run."""
    view = poller.views.get(run)
    parts = view.parts if view else {}
    return {"problem": poller.problem, **parts, "report": run in poller.reports}


def _parts(poller: Poller, run: str, asked: Asked) -> Parts:
    if run == WORKERS:
        return of_workers(poller, asked)
    return of_run(poller, run) if run else of_all(poller)


async def events(
    poller: Poller,
    run: str,
    *,
    may_act: bool,
    ticket: str = "",
    asked: Asked,
    closing: Callable[[], bool],
) -> AsyncIterator[bytes]:
    """The events for one page, until it is closed or the server ends.

    Args:
        poller: Has the views.
        run: The run to show; empty for all, `WORKERS` for the workers.
        may_act: Whether the page has the token.
        ticket: Lets the page open the run's report (see `Access.ticket`).
        asked: Which workers, on their page.
        closing: Returns whether the server is about to end.
    """
    changes, looks, last = Changes(), -1, 0.0
    with poller.watching(run):
        looks, over = poller.looks, False
        while not over:
            await poller.after(looks)
            if over := closing():
                # A run with this dashboard beside it has posted its last snapshot before.
                await poller.look((run,))
            looks = poller.looks
            changed = changes.since_last(
                {
                    **_parts(poller, run, asked),
                    "may_act": may_act,
                    "ticket": ticket,
                }
            )
            now = time.time()
            if changed or now - last > _SIGN_OF_LIFE:
                last = now
                yield b"data: " + orjson.dumps({"time": now, **changed}) + b"\n\n"
