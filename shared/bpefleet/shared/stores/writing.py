"""Writing to a store: objects that are whole or not there."""

from __future__ import annotations

from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores.loop import done
from bpefleet.shared.stores.store import store_of
from bpefleet.shared.stores.urls import WEB, Location, parsed


def put(url: str, data: bytes) -> None:
    """Write an object, whole or not at all, in place of another of that name if there is one.

    Raises:
        UsageError: See `urls.parsed`, `store.store_of`; or it is on a web server.
        SourceError: The store refuses.
        StoreError: It does not answer.
    """
    location = _writable(url)
    done(store_of(location).put(location, data))


def delete(url: str) -> None:
    """Remove an object, if it is there. Raises as `put`."""
    location = _writable(url)
    done(store_of(location).delete(location))


def exists(url: str) -> bool:
    """Whether there is such an object. Raises as `put`."""
    location = parsed(url)
    return done(store_of(location).head(location)) is not None


def _writable(url: str) -> Location:
    location = parsed(url)
    if location.scheme in WEB:
        raise UsageError(f"{location.url}: nothing is written to web servers")
    return location
