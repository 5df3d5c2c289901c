"""Writing to a store: objects that are whole or not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.errors import StoreError, UsageError
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.loop import done
from bpefleet.shared.stores.urls import WEB, Location, parsed

if TYPE_CHECKING:
    from bpefleet.shared.stores.store import Entry


def put(url: str, data: bytes) -> Entry:
    """Write an object, whole or not at all, in place of another of that name if there is one.

    Returns:
        The object as it is now.

    Raises:
        UsageError: As `demand_writable`.
        SourceError: The store refuses.
        StoreError: It does not answer.
    """
    location = demand_writable(url)
    store = store_of(location)
    done(store.put(location, data))
    if (entry := done(store.head(location))) is None:
        raise StoreError(f"{location.url} was written, and is not there")
    return entry


def delete(url: str) -> None:
    """Remove an object, if it is there. Raises as `put`."""
    location = demand_writable(url)
    done(store_of(location).delete(location))


def head(url: str) -> Entry | None:
    """An object as it is now; None if there is none. Raises as `put`."""
    location = parsed(url)
    return done(store_of(location).head(location))


def demand_writable(url: str) -> Location:
    """What a URL names, if it is where something can be written.

    Raises:
        UsageError: See `urls.parsed`, `connect.store_of`; or it is on a web server.
    """
    location = parsed(url)
    if location.scheme in WEB:
        raise UsageError(f"{location.url}: nothing is written to web servers")
    return location
