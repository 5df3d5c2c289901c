"""Imports what reads a source before a worker forks, so that no work-horse does it again."""

from __future__ import annotations

from contextlib import suppress

from bpefleet.shared.stores.urls import OBJECT_STORES, WEB


def import_for(source: str) -> None:
    """Import what reads a source, if it is a URL and that is there. Nothing is connected to."""
    scheme, separator, _ = source.partition("://")
    if separator and scheme in (*OBJECT_STORES, *WEB):
        with suppress(ImportError):
            from bpefleet.shared.stores.backends import objects  # noqa: F401, PLC0415  an extra
            from bpefleet.shared.stores.reading import remote_file  # noqa: F401, PLC0415  an extra
