"""The store that answers for a URL: connected to once a process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores.urls import OBJECT_STORES, WEB

if TYPE_CHECKING:
    from bpefleet.shared.stores.store import Store
    from bpefleet.shared.stores.urls import Location

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
            _stores.setdefault(name, _made(location))  # of two threads that make one, the first's
        except ImportError as error:
            if location.scheme in (*OBJECT_STORES, *WEB) or error.name == "fsspec":
                missing, hint = "it takes obstore and fsspec", "pip install 'bpefleet[remote]'"
            else:
                missing, hint = str(error), "pip install 'bpefleet[remote]' and what it names"
            raise UsageError(
                f"{location.url} cannot be read with what is installed here: {missing}",
                hint=f"{hint}, on every machine that counts",
            ) from error
    return _stores[name]


def _made(location: Location) -> Store:
    if location.scheme in (*OBJECT_STORES, *WEB):
        from bpefleet.shared.stores.backends.objects import Objects  # noqa: PLC0415  an extra

        return Objects(location)
    from bpefleet.shared.stores.backends.filesystems import FileSystem  # noqa: PLC0415  an extra

    return FileSystem(location)
