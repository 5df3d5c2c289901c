"""Selects the workers to show: one page of all of them, or of those that match a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import QueryParams

SHOWN: Final = 100
"""Workers that a page is sent at the most."""
_LONGEST: Final = 200
_DIGITS: Final = 9
"""Of a number of workers: no fleet has more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page asks for.

    Attributes:
        text: Part of a worker's name, host or run; empty for all.
        first: How many of them to pass over.
    """

    text: str = ""
    first: int = 0

    @classmethod
    def by(cls, query: QueryParams) -> Asked:
        """What an address asks for; what makes no sense in it is left out."""
        first = query.get("from", "")
        is_number = first.isascii() and first.isdigit() and len(first) <= _DIGITS
        text = query.get("find", "")[:_LONGEST].strip().lower()
        return cls(text, int(first) if is_number else 0)


def found(workers: Sequence[dict[str, Any]], asked: Asked) -> dict[str, Any]:
    """The workers that a page shows, and how many there are of which kind.

    Args:
        workers: All of them.
        asked: What the page asks for.
    """
    chosen = [worker for worker in workers if _has(worker, asked.text)]
    return {
        "fleet": chosen[asked.first : asked.first + SHOWN],
        "fleet_sum": {
            "all": len(workers),
            "hosts": len({worker["host"] for worker in workers}),
            "busy": sum(bool(worker["run"]) for worker in workers),
            "found": len(chosen),
            "first": asked.first,
            "page": SHOWN,
        },
    }


def _has(worker: dict[str, Any], text: str) -> bool:
    return not text or any(text in worker[name].lower() for name in ("name", "host", "run"))
