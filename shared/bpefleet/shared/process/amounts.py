"""Amounts as text for people, and sizes as people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

SIZES: Final = "write it as 64MiB or 100MB"
"""What to do about what is no size."""
_SIZE: Final = re.compile(r"\s*(\d+)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE | re.ASCII)
_LONGEST: Final = 1e9
"""The longest time that is shown, in seconds: 30 years."""


def size(count: float) -> str:
    """A number of bytes, such as `1.2 MB`."""
    scale, unit = _scale(count)
    return f"{count / scale:,.0f} B" if scale == 1 else f"{count / scale:,.1f} {unit}"


def read_size(text: str) -> int | None:
    """The bytes of a size such as `33554432`, `32MiB` or `64 MB`; None if it is none, or 0."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[3] and not match[2]):
        return None
    power = " kmgt".index(match[2].lower() or " ")
    return int(match[1]) * (1024 if match[3] else 1000) ** power or None


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
