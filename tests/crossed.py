"""Which of a test's cases `make test` tries, where each value of a parameter meets each of others.

`@pytest.mark.crossed(3)` keeps one case in three, so that every value is still tried with some of
the others. `make test-slow` tries all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def leave_most_to_the_slow(items: Iterable[pytest.Item]) -> None:
    """Mark as slow the cases of crossed tests that `make test` does without."""
    seen: dict[tuple[str, str], list[Any]] = {}
    for item in items:
        crossed = item.get_closest_marker("crossed")
        if crossed is None or not isinstance(item, pytest.Function):
            continue
        function = item.nodeid.partition("[")[0]
        values = [
            (value, seen.setdefault((function, name), []))
            for name, value in item.callspec.params.items()
            if name not in _together(item)
        ]
        if sum(_place(value, before) for value, before in values) % crossed.args[0]:
            item.add_marker(pytest.mark.slow)


def _together(item: pytest.Function) -> set[str]:
    """The names of parameters that have their values from the list of another."""
    return {
        name
        for mark in item.iter_markers("parametrize")
        if not isinstance(mark.args[0], str)
        for name in mark.args[0][1:]
    }


def _place(value: object, before: list[Any]) -> int:
    """Which of a parameter's values it is, in the order of the cases."""
    for place, each in enumerate(before):
        if each is value:
            return place
    before.append(value)
    return len(before) - 1
