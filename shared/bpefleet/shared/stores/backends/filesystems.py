"""Whatever fsspec knows beside object stores: `hf://`, `sftp://`, `memory://` and others."""

from __future__ import annotations

import asyncio
import random
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import fsspec
from fsspec.implementations.local import LocalFileSystem

from bpefleet.shared.errors import StoreError, UsageError
from bpefleet.shared.stores.failures import changed, failure, gone
from bpefleet.shared.stores.store import Entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path

    from bpefleet.shared.stores.urls import Location

_TRIES: Final = 5
_PAUSE: Final = 0.2
_PATIENCE: Final = 60.0
"""Seconds to wait for an answer; a listing may take any time."""
_ONE_AT_ONCE: Final = ("sftp", "ssh")
"""What has one connection, on which threads would take each other's answers."""
_AT_ONCE: Final = 32
_TIMES: Final = (
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
    "modificationTime",
    "created",
)
"""What file systems say of when a file was written."""
_TELLING: Final = (
    *("ETag", "etag", "e_tag", "version_id", "sha256", "blob_id", "oid", "md5", "checksum"),
    *_TIMES,
)
"""What file systems say of a file that is another once the file is, the best first."""


class FileSystem:
    """A file system of fsspec; see `store.Store`. Credentials are those of the environment."""

    def __init__(self, location: Location) -> None:
        try:
            self._files: Any = fsspec.filesystem(location.scheme, **_options(location))
        except ValueError as error:
            raise UsageError(
                f"{location.scheme}:// is not known here ({error})",
                hint="s3, gs, az, http, https, and what fsspec knows",
            ) from error
        self._turns = asyncio.Semaphore(1 if location.scheme in _ONE_AT_ONCE else _AT_ONCE)
        if isinstance(self._files, LocalFileSystem):
            raise UsageError(f"{location.scheme}:// is not read: name the path itself")

    async def head(self, location: Location) -> Entry | None:
        """See `Store`."""
        try:
            info = await self._ask(location, self._info, location)
        except FileNotFoundError:
            return None
        return None if info["type"] == "directory" else _entry(location, info)

    async def read(self, location: Location, start: int, end: int, version: str) -> bytes:
        """See `Store`; such a file is asked what it is each time that some of it is read."""
        now = await self.head(location)
        if now is None or (version and now.version != version) or now.size < end:
            raise (changed if version else gone)(location)
        try:
            data: bytes = await self._ask(
                location, self._files.cat_file, self._path(location), start, end
            )
        except FileNotFoundError:
            raise (changed if version else gone)(location) from None
        if len(data) != end - start:
            raise StoreError(f"{location.url}: an answer was cut off after {len(data):,} bytes")
        return data

    async def entries(self, folder: Location) -> AsyncIterator[Entry]:
        """See `Store`."""
        top = self._path(folder).rstrip("/")
        try:
            found = await self._ask(folder, self._find, top, patience=None)
        except FileNotFoundError as error:
            raise gone(folder, error) from error
        for path, info in found.items():
            inside = path.removeprefix(top).lstrip("/")
            yield _entry(folder.at(folder.key + inside), info)

    async def put(self, location: Location, data: bytes | Path) -> None:
        """See `Store`: written under another name first, and then renamed."""
        path = self._path(location)
        await self._ask(location, self._put, path, data)

    async def delete(self, location: Location) -> None:
        """See `Store`."""
        try:
            await self._ask(location, self._files.rm_file, self._path(location))
        except FileNotFoundError:
            return

    async def _ask(
        self,
        location: Location,
        call: Callable[..., Any],
        *arguments: Any,
        patience: float | None = _PATIENCE,
    ) -> Any:
        for tries in range(_TRIES):
            try:
                async with self._turns:
                    return await asyncio.wait_for(_in_thread(call, *arguments), patience)
            except FileNotFoundError:
                raise
            except Exception as error:
                said = failure(error, location)
                if tries == _TRIES - 1 or not isinstance(said, StoreError):
                    raise said from error
            await asyncio.sleep(_PAUSE * 2**tries * (1 + random.random()))  # noqa: S311
        raise AssertionError

    def _path(self, location: Location) -> str:
        path: str = self._files._strip_protocol(location.url)  # noqa: SLF001  what fsspec's own do
        return path

    def _info(self, location: Location) -> Mapping[str, Any]:
        self._files.invalidate_cache()
        found: Mapping[str, Any] = self._files.info(self._path(location))
        return found

    def _find(self, top: str) -> Mapping[str, Mapping[str, Any]]:
        self._files.invalidate_cache()
        found: Mapping[str, Mapping[str, Any]] = self._files.find(top, detail=True)
        return found

    def _put(self, path: str, data: bytes | Path) -> None:
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        if isinstance(data, bytes):
            self._files.pipe_file(f"{path}.part", data)
        else:
            self._files.put_file(str(data), f"{path}.part")
        self._files.mv(f"{path}.part", path)


def _in_thread(call: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
    """Call what blocks, in a thread that keeps no process from ending though it hangs."""
    loop = asyncio.get_running_loop()
    answer = loop.create_future()

    def tell(result: Any, error: BaseException | None) -> None:
        if not answer.done():  # nobody waits for it any more
            answer.set_result(result) if error is None else answer.set_exception(error)

    def run() -> None:
        result, failed = None, None
        try:
            result = call(*arguments)
        except BaseException as error:  # noqa: BLE001  whoever waits gets it
            failed = error
        loop.call_soon_threadsafe(tell, result, failed)

    threading.Thread(target=run, name="store", daemon=True).start()
    return answer


def _options(location: Location) -> dict[str, Any]:
    """What the URL says of the server, such as its name."""
    kind = fsspec.get_filesystem_class(location.scheme)
    options: dict[str, Any] = kind._get_kwargs_from_urls(location.url)  # noqa: SLF001  likewise
    return options


def _entry(location: Location, info: Mapping[str, Any]) -> Entry:
    name = next((name for name in _TELLING if info.get(name)), "")
    told = info[name] if name else ""
    told = told.timestamp() if isinstance(told, datetime) else told  # listings have it as a number
    version = f"{name} {told}" if name else ""
    return Entry(location, int(info.get("size") or 0), version, _changed(info))


def _changed(info: Mapping[str, Any]) -> float:
    told = next((info[name] for name in _TIMES if info.get(name)), 0.0)
    if isinstance(told, datetime):
        return told.timestamp()
    return float(told) if isinstance(told, int | float) else 0.0
