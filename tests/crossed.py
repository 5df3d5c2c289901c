"""Which of a test's cases `make test` tries, where each value of a parameter meets each of others.

`@pytest.mark.crossed(3)` keeps one case in three, so that every value is still tried with some of
the others. `make test-slow` tries all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def place(item: pytest.Item) -> int:
    """The sum of the places that a case's values have in their lists."""
    places: dict[str, int] = dict(getattr(item, "callspec").indices)  # noqa: B009  of functions
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0]
        together = names.split(",") if isinstance(names, str) else names
        for name in together[1:]:
            del places[name.strip()]
    return sum(places.values())
