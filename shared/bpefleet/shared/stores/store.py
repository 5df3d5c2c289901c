"""What is asked of a store, and which answers for a URL."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores.urls import OBJECT_STORES, WEB, Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from typing_extensions import Buffer


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as it is now.

    Attributes:
        location: Where it is.
        size: Its bytes.
        version: What tells it from what it was or will be: its ETag, or the time of its last
            change; empty if the store tells neither.
    """

    location: Location
    size: int
    version: str


class Store(Protocol):
    """A store; its methods raise `SourceError`, or `StoreError` where another try may help."""

    async def head(self, location: Location) -> Entry | None:
        """An object; None if there is none of that name."""

    async def read(self, location: Location, start: int, end: int, version: str) -> Buffer:
        """Bytes of an object, exactly as many.

        Raises:
            SourceChangedError: It is gone, shorter or of another version.
        """

    def entries(self, folder: Location) -> AsyncIterator[Entry]:
        """All objects whose names begin with a folder's, which ends with a slash or is empty."""

    async def put(self, location: Location, data: bytes) -> None:
        """Write an object, whole or not at all, in place of another if there is one."""

    async def delete(self, location: Location) -> None:
        """Remove an object, if it is there."""


def import_for(source: str) -> None:
    """Import what reads a source, if it is a URL and that is there. Nothing is connected to."""
    scheme, separator, _ = source.partition("://")
    if separator and scheme in (*OBJECT_STORES, *WEB):
        with suppress(ImportError):
            from bpefleet.shared.stores import objects, remote_file  # noqa: F401, PLC0415  an extra


_stores: dict[tuple[int, str, str], Store] = {}


def store_of(location: Location) -> Store:
    """The store that a location is in. Each process has its own connections.

    Raises:
        UsageError: What it takes is not installed, or not known.
        SourceError: The store cannot be used with what the environment says.
    """
    name = (os.getpid(), location.scheme, location.host)
    if name not in _stores:
        try:
            _stores[name] = _made(location)
        except ImportError as error:
            if location.scheme in (*OBJECT_STORES, *WEB) or error.name == "fsspec":
                missing, hint = "obstore and fsspec", "pip install 'bpefleet[remote]'"
            else:
                missing, hint = str(error), "pip install 'bpefleet[remote]' and what it names"
            raise UsageError(
                f"{location.url} cannot be read with what is installed here: it takes {missing}",
                hint=f"{hint}, on every machine that counts",
            ) from error
    return _stores[name]


def _made(location: Location) -> Store:
    if location.scheme in (*OBJECT_STORES, *WEB):
        from bpefleet.shared.stores.objects import Objects  # noqa: PLC0415  an extra

        return Objects(location)
    from bpefleet.shared.stores.filesystems import FileSystem  # noqa: PLC0415  an extra

    return FileSystem(location)
