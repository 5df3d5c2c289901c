"""Whatever fsspec knows beside object stores: `hf://`, `sftp://`, `memory://` and others."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import nullcontext
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
_SSH: Final = ("sftp", "ssh")
_ONE_AT_ONCE: Final = ("ftp", *_SSH)
"""What has one connection, on which threads would take each other's answers."""
_AT_ONCE: Final = 32
_TIMES: Final = (
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
    "modificationTime",
    "modify",
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
            self._kind = _kind(location.scheme)
        except ValueError as error:
            raise UsageError(
                f"{location.scheme}:// is not known here ({error})",
                hint="s3, gs, az, http, https, and what fsspec knows",
            ) from error
        if issubclass(self._kind, LocalFileSystem):
            raise UsageError(f"{location.scheme}:// is not read: name the path itself")
        self._options: dict[str, Any] = self._kind._get_kwargs_from_urls(location.url)  # noqa: SLF001  what fsspec's own do
        self._alone = location.scheme in _ONE_AT_ONCE
        self._turns = asyncio.Semaphore(1 if self._alone else _AT_ONCE)
        self._line = self._connected_to()

    async def head(self, location: Location) -> Entry | None:
        """See `Store`."""
        try:
            info = await self._ask(location, _info, self._path(location))
        except FileNotFoundError:
            return None
        return None if info["type"] == "directory" else _entry(location, info)

    async def read(self, location: Location, start: int, end: int, version: str) -> bytes:
        """See `Store`; such a file is asked what it is each time that some of it is read."""
        now = await self.head(location)
        if now is None or (version and now.version != version) or now.size < end:
            raise (changed if version else gone)(location)
        try:
            path = self._path(location)
            data: bytes = await self._ask(location, lambda files: files.cat_file(path, start, end))
        except FileNotFoundError:
            raise (changed if version else gone)(location) from None
        if len(data) != end - start:
            raise StoreError(f"{location.url}: an answer was cut off after {len(data):,} bytes")
        return data

    async def entries(self, folder: Location) -> AsyncIterator[Entry]:
        """See `Store`."""
        top = self._path(folder).rstrip("/")
        try:
            found = await self._ask(folder, _find, top, patience=None)
        except FileNotFoundError as error:
            raise gone(folder, error) from error
        for path, info in found.items():
            inside = path.removeprefix(top).lstrip("/")
            yield _entry(folder.at(folder.key + inside), info)

    async def put(self, location: Location, data: bytes | Path) -> None:
        """See `Store`: written under another name first, and then renamed."""
        path = self._path(location)
        await self._ask(location, _put, path, data)

    async def delete(self, location: Location) -> None:
        """See `Store`."""
        try:
            path = self._path(location)
            await self._ask(location, lambda files: files.rm_file(path))
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
            line = self._line
            try:
                async with self._turns:
                    return await asyncio.wait_for(_in_thread(line.ask, call, *arguments), patience)
            except FileNotFoundError:
                raise
            except Exception as error:
                said = failure(error, location)
                if tries == _TRIES - 1 or not isinstance(said, StoreError):
                    raise said from error
            if self._alone and line is self._line:
                self._line = self._connected_to()
            await asyncio.sleep(_PAUSE * 2**tries * (1 + random.random()))  # noqa: S311
        raise AssertionError

    def _path(self, location: Location) -> str:
        path: str = self._kind._strip_protocol(location.url)  # noqa: SLF001  likewise
        return path

    def _connected_to(self) -> _Line:
        options = self._options
        if self._alone:
            options = {**options, "skip_instance_cache": True}
        return _Line(lambda: self._kind(**options), alone=self._alone)


def _kind(scheme: str) -> Any:
    if scheme in _SSH:
        from bpefleet.shared.stores.backends.sftp import CheckedSftp  # noqa: PLC0415  an extra

        return CheckedSftp
    return fsspec.get_filesystem_class(scheme)


class _Line:
    """A connection, made by the thread that asks first.

    Args:
        connect: Makes what answers, a file system of fsspec.
        alone: Whether only one thread may ask at once. A request that nobody waits for any more
            goes on in its thread, so that whoever waits for an answer cannot tell.
    """

    def __init__(self, connect: Callable[[], Any], *, alone: bool) -> None:
        self._connect = connect
        self._turn = threading.Lock() if alone else nullcontext()
        self._files: Any = None

    def ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        with self._turn:
            if self._files is None:
                self._files = self._connect()
            return call(self._files, *arguments)


def _info(files: Any, path: str) -> Mapping[str, Any]:
    files.invalidate_cache()
    found: Mapping[str, Any] = files.info(path)
    return found


def _find(files: Any, top: str) -> Mapping[str, Mapping[str, Any]]:
    files.invalidate_cache()
    found: Mapping[str, Mapping[str, Any]] = files.find(top, detail=True)
    return found


def _put(files: Any, path: str, data: bytes | Path) -> None:
    files.makedirs(path.rpartition("/")[0], exist_ok=True)
    if isinstance(data, bytes):
        files.pipe_file(f"{path}.part", data)
    else:
        files.put_file(str(data), f"{path}.part")
    files.mv(f"{path}.part", path)


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
