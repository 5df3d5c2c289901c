"""Waiting for a condition instead of for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

PATIENCE: Final = 120.0
"""Seconds for what takes a few on a machine that is slow, or busy with something else."""


def eventually(condition: Callable[[], T], deadline: float = PATIENCE) -> T:
    """Poll until `condition` returns something true, and return that.

    Args:
        condition: Asked every 10 ms.
        deadline: Seconds after which the wait fails; named only where they are what is tested.

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
