"""URLs of what lies in a store."""

from __future__ import annotations


def is_url(source: str) -> bool:
    """Whether a source is a URL, and not a path: absolute paths have no two slashes in a row."""
    return "://" in source
