"""Numbers in words, as the report tells them."""

from __future__ import annotations

from typing import Final

_LEAST_MB: Final = 1e5
"""Bytes from which on megabytes tell more than kilobytes."""


def in_mb(size: float) -> str:
    """A size in millions of bytes, a small one in thousands."""
    return f"{size / 1e6:,.1f} MB" if size >= _LEAST_MB else f"{size / 1e3:,.1f} kB"


def in_mib(size: int) -> str:
    """Memory in units of 2^20 bytes; nothing if it is unknown."""
    return f"{size / 2**20:,.0f} MiB" if size else ""
