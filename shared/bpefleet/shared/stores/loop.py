"""One event loop a process, in a thread of its own, for requests that are under way together.

The thread is a daemon: a request that hangs keeps no process from ending. A forked process starts
its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator
    from concurrent.futures import Future

_T = TypeVar("_T")
_AT_ONCE: Final = 32
"""Requests about objects that are under way together."""
_PATIENCE: Final = 1.0
"""Seconds for them to end when Python does."""
_HEARD: Final = 0.05
"""Seconds for obstore to hear of it: it does not tell when it has."""
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
            _loops[process] = loop = _Loop()
            thread = threading.Thread(target=loop.run_forever, name="stores", daemon=True)
            thread.start()
            atexit.register(_end, process, loop, thread)
        return _loops[process]


class _Loop(asyncio.SelectorEventLoop):
    """Knows which threads are calling it."""

    def __init__(self) -> None:
        super().__init__()
        self.calling: set[int] = set()

    def call_soon_threadsafe(self, *arguments: Any, **more: Any) -> asyncio.Handle:  # type: ignore[override]
        self.calling.add(threading.get_ident())
        try:
            return super().call_soon_threadsafe(*arguments, **more)
        finally:
            self.calling.discard(threading.get_ident())


def _end(process: int, loop: _Loop, thread: threading.Thread) -> None:
    """End what is under way, before Python ends.

    Of a thread of obstore's that is amid a call of Python then, the process would abort; one that
    only begins such a call says so at length.
    """
    if os.getpid() != process:
        return
    deadline = time.monotonic() + _PATIENCE
    cancelling = asyncio.run_coroutine_threadsafe(_cancelled(), loop)
    thread.join(_PATIENCE)
    while loop.calling and time.monotonic() < deadline:
        time.sleep(0.001)
    if cancelling.done() and cancelling.result():
        time.sleep(_HEARD)


async def _cancelled() -> int:
    """Cancel all else, and then stop the loop; how many there were."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_PATIENCE)
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, loop.stop)  # when this is known to have ended
    return len(others)
