"""How many examples a property is tried with: fewer in `make test`, all in `make test-slow`."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

ALL: Final = "BPEFLEET_ALL_EXAMPLES"
"""The environment variable that asks for all."""

_SHARE: Final = 1.0 if os.environ.get(ALL) else 0.3


def number(examples: int = 100) -> int:
    """How many of so many examples are tried."""
    return round(examples * _SHARE)


def tried_with(examples: int) -> settings:
    """A decorator of a property that would be tried with so many examples."""
    return settings(max_examples=number(examples))
