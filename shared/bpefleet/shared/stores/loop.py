"""One event loop a process, in a thread of its own, for requests that are under way together.

The thread is a daemon: a request that hangs keeps no process from ending. A forked process starts
its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from concurrent.futures import Future

_T = TypeVar("_T")
_AT_ONCE: Final = 32
"""Requests about objects that are under way together."""
_loops: dict[int, asyncio.AbstractEventLoop] = {}
_starting: Final = threading.Lock()


def begun(request: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Begin a request; cancelling what is returned ends it."""
    return asyncio.run_coroutine_threadsafe(request, _loop())


def done(request: Coroutine[Any, Any, _T]) -> _T:
    """Do a request, and wait for it: an interrupt of the wait ends it."""
    future = begun(request)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def each(requests: Iterable[Coroutine[Any, Any, _T]]) -> Iterator[_T]:
    """Do many requests, some at once; what they bring is in their order.

    Raises:
        Exception: Of the first that failed; those after it are ended.
    """
    under_way: list[Future[_T]] = []
    try:
        for request in requests:
            under_way.append(begun(request))
            if len(under_way) >= _AT_ONCE:
                yield under_way.pop(0).result()
        while under_way:
            yield under_way.pop(0).result()
    finally:
        for future in under_way:
            future.cancel()


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        if (process := os.getpid()) not in _loops:
            _loops.clear()
            _loops[process] = asyncio.new_event_loop()
            run = _loops[process].run_forever
            threading.Thread(target=run, name="stores", daemon=True).start()
        return _loops[process]
