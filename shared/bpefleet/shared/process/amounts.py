"""Amounts as text for people."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_LONGEST: Final = 1e9
"""The longest time that is shown, in seconds: 30 years."""


def size(count: float) -> str:
    """A number of bytes, such as `1.2 MB`."""
    scale, unit = _scale(count)
    return f"{count / scale:,.0f} B" if scale == 1 else f"{count / scale:,.1f} {unit}"


def of(done: int, total: int) -> str:
    """A part of a number of bytes, such as `1.2/3.4 MB`."""
    scale, unit = _scale(total)
    digits = 0 if scale == 1 or total >= 100 * scale else 1
    return f"{done / scale:,.{digits}f}/{total / scale:,.{digits}f} {unit}"


def clock(seconds: float) -> str:
    """Seconds as `0:01:05`."""
    return str(timedelta(seconds=round(max(0.0, min(seconds, _LONGEST)))))


def several(count: int, name: str) -> str:
    """A number of things, such as `1 chunk` or `1,200 chunks`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _scale(count: float) -> tuple[float, str]:
    scale, name = 1.0, "B"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        if count < 1000 * scale:
            break
        scale, name = 1000 * scale, unit
    return scale, name
