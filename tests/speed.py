"""Limits of time that hold on any machine."""

from __future__ import annotations

import time
from typing import Final

_WORK: Final = bytes(8 << 20)
_SECONDS: Final = 0.1
"""What `_WORK` takes on the machine that limits are written for, while it is quiet."""


def slowness() -> float:
    """How many times longer things take here and now than limits are written for; at least 1."""
    begun = time.monotonic()
    max(_WORK)
    return max(1.0, (time.monotonic() - begun) / _SECONDS)
