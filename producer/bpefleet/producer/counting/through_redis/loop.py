"""An asyncio loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


def run_beside(
    main: Callable[[], Coroutine[Any, Any, T]], meanwhile: Callable[[], object] | None = None
) -> T:
    """Run a coroutine in a thread with a loop of its own, and wait for its end.

    A thread may have one loop only, and in a notebook or a server the caller's has one that runs.
    Also, an interrupt then finds this thread waiting, and not the loop in the midst of something:
    it cancels the coroutine, which has its time to leave things in order. A second one does not
    wait for that.

    Signals are for `Stop.on_signals` to handle here, not for `loop.add_signal_handler`: a loop
    beside the main thread cannot take them, counting in process and merging have no loop, and a
    loop that lets go of SIGTERM leaves it with its default, which is to die at once.

    Args:
        main: The coroutine.
        meanwhile: Called in this thread before it waits. What it raises cancels the coroutine.

    Raises:
        KeyboardInterrupt: The coroutine was cancelled, by an interrupt or by itself.
    """
    beside = _Beside(main)
    threading.Thread(target=beside.run, name="loop", daemon=True).start()
    try:
        if meanwhile is not None:
            meanwhile()
        beside.ended.wait()  # not `Thread.join`, which takes an interrupt for the thread's end
    except BaseException:
        beside.cancel()
        beside.ended.wait()
        raise
    if isinstance(beside.error, asyncio.CancelledError):
        raise KeyboardInterrupt from None
    if beside.error is not None:
        raise beside.error
    return beside.results[0]


class _Beside(Generic[T]):
    def __init__(self, main: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.results: list[T] = []
        self._main = main
        self._cancelled = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def run(self) -> None:
        try:
            self.results.append(asyncio.run(self._run()))
        except BaseException as error:  # noqa: BLE001  raised again in the other thread
            self.error = error
        finally:
            self.ended.set()

    def cancel(self) -> None:
        self._cancelled = True
        if self._running is not None:
            loop, task = self._running
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop has just been closed
                return

    async def _run(self) -> T:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover  a coroutine is run by a task
            raise AssertionError
        self._running = asyncio.get_running_loop(), task
        if self._cancelled:
            raise asyncio.CancelledError
        return await self._main()
