"""Object stores and web servers, through obstore."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import obstore
from obstore.store import AzureStore, GCSStore, HTTPStore, S3Store

from bpefleet.shared.errors import BpefleetError, SourceError, StoreError, UsageError
from bpefleet.shared.stores.failures import changed, failure, gone
from bpefleet.shared.stores.store import Entry
from bpefleet.shared.stores.urls import WEB

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from obstore import Bytes, GetOptions, ObjectMeta

    from bpefleet.shared.stores.urls import Location

_RETRIES: Final[Any] = {
    "max_retries": 8,
    "backoff": {
        "base": 2,
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=10),
    },
    "retry_timeout": timedelta(seconds=60),
}
"""Of obstore: 5xx, throttling, connections that break; an answer that is cut off is continued, if
the object has an ETag.
"""
_TRIES: Final = 4
"""Ours, at the same request, of an answer that was cut off all the same."""
_PAUSE: Final = 0.2
_TRIED: Final = "retries"
"""What obstore says where it has tried again already."""
_PAGE: Final = 1000
_MODIFIED: Final = "modified "
_WEAK: Final = "W/"
_BY_HAND: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)
_METADATA: Final = ("169.254.169.254", 80)
"""Where machines of a cloud ask for their credentials."""


class Objects:
    """A bucket, a container or a web server; see `store.Store`.

    Endpoints, regions and credentials are those of the environment.
    """

    def __init__(self, location: Location) -> None:
        host = location.host
        try:
            self._store: Any
            if location.scheme == "s3":
                _demand_credentials(location)
                self._store = S3Store(host, retry_config=_RETRIES)
            elif location.scheme == "gs":
                self._store = GCSStore(host, retry_config=_RETRIES)
            elif location.scheme == "az":
                self._store = AzureStore(host, retry_config=_RETRIES)
            else:
                options: Any = {"allow_http": location.scheme == "http"}
                url = f"{location.scheme}://{host}"
                self._store = HTTPStore(url, client_options=options, retry_config=_RETRIES)
        except BpefleetError:
            raise
        except Exception as error:
            raise failure(error, location) from error

    async def head(self, location: Location) -> Entry | None:
        """See `Store`."""
        try:
            meta = await obstore.head_async(self._store, location.key)
        except FileNotFoundError:
            return None
        except Exception as error:
            raise failure(error, location) from error
        return Entry(location, meta["size"], _version(meta))

    async def read(self, location: Location, start: int, end: int, version: str) -> Bytes:
        """See `Store`."""
        for tries in range(_TRIES):
            try:
                return await self._read(location, start, end, version)
            except StoreError as error:
                if tries == _TRIES - 1 or _TRIED in error.message:
                    raise
            await asyncio.sleep(_PAUSE * 2**tries * (1 + random.random()))  # noqa: S311
        raise AssertionError

    async def _read(self, location: Location, start: int, end: int, version: str) -> Bytes:
        try:
            options = _conditions(version, start, end)
            result = await obstore.get_async(self._store, location.key, options=options)
            data = await result.bytes_async()
        except FileNotFoundError as error:
            raise (changed if version else gone)(location) from error
        except Exception as error:
            raise failure(error, location) from error
        if (version and _version(result.meta) != version) or end > result.meta["size"]:
            raise changed(location)
        if len(data) != end - start:
            raise StoreError(f"{location.url}: an answer was cut off after {len(data):,} bytes")
        return data

    async def entries(self, folder: Location) -> AsyncIterator[Entry]:
        """See `Store`."""
        if folder.scheme in WEB:
            raise SourceError(
                f"{folder.url}: a web server lists no files", hint="name each file by its own URL"
            )
        try:
            pages = obstore.list(self._store, folder.key or None, chunk_size=_PAGE)
            async for page in pages:
                for meta in page:
                    changed_at = meta["last_modified"].timestamp()
                    yield Entry(folder.at(meta["path"]), meta["size"], _version(meta), changed_at)
        except Exception as error:
            raise failure(error, folder) from error

    async def put(self, location: Location, data: bytes | Path) -> None:
        """See `Store`."""
        try:
            await obstore.put_async(self._store, location.key, data)
        except Exception as error:
            raise failure(error, location) from error

    async def delete(self, location: Location) -> None:
        """See `Store`."""
        try:
            await obstore.delete_async(self._store, location.key)
        except FileNotFoundError:
            return
        except Exception as error:
            raise failure(error, location) from error


def _version(meta: ObjectMeta) -> str:
    if tag := meta["e_tag"]:
        return tag if tag.startswith(_WEAK) else tag.strip('"')  # in listings some have no quotes
    changed_at: datetime | None = meta["last_modified"]
    return f"{_MODIFIED}{changed_at.isoformat()}" if changed_at and changed_at.timestamp() else ""


def _conditions(version: str, start: int, end: int) -> GetOptions:
    if version.startswith(_MODIFIED):
        since = datetime.fromisoformat(version.removeprefix(_MODIFIED))
        return {"range": (start, end), "if_unmodified_since": since}
    if version and not version.startswith(_WEAK):
        return {"range": (start, end), "if_match": f'"{version}"'}
    return {"range": (start, end)}


def _demand_credentials(location: Location) -> None:
    """Say at once that there are none: obstore would ask for them until it gives up."""
    if any(os.environ.get(name) for name in _BY_HAND):
        return
    try:
        socket.create_connection(_METADATA, timeout=1).close()
    except OSError as error:
        raise UsageError(
            f"{location.url}: no credentials were found in the environment",
            hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for "
            "what everyone may read, on every machine that counts",
        ) from error
