"""Waiting for a condition instead of for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def eventually(condition: Callable[[], T], deadline: float = 10.0) -> T:
    """Poll until `condition` returns something true, and return that.

    Args:
        condition: Asked every 10 ms.
        deadline: Seconds after which the wait fails.

    Raises:
        AssertionError: The deadline passed.
    """
    end = time.monotonic() + deadline
    while True:
        if result := condition():
            return result
        if time.monotonic() > end:
            name = getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"not within {deadline} s: {name}; last seen {result!r}")
        time.sleep(0.01)
