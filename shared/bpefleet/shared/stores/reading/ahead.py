"""Parts of an object, asked for before they are needed, so that whoever counts never waits."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.stores.loop import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from concurrent.futures import Future

    Read = Callable[[int, int], Coroutine[Any, Any, Any]]

logger = logging.getLogger(__name__)

_FIRST: Final = 1 << 20
"""Bytes of the first request, which is waited for; each after it is twice as large, up to
`_PART`.
"""
_PART: Final = 4 << 20
"""Bytes of a request: enough that what a request costs beside them is little."""
_AHEAD: Final = 8
"""Requests under way together: as many as keep a core busy that counts 400 MB/s, where each takes a
tenth of a second to begin and brings 50 MB/s.
"""
_PACE: Final = 1 << 20
"""Bytes that a fast network brings in a millisecond. The first requests are that far apart: those
needed later do not share the way with those needed now.
"""
_SILENT: Final = 10.0
"""Seconds after which a store that does not answer is told of."""


class Ahead:
    """Reads ranges of an object in their order; the first requests are made soon.

    Args:
        name: The object's URL.
        read: Asks for the bytes between two places.
        ranges: Which, ascending.
    """

    def __init__(self, name: str, read: Read, ranges: Iterable[tuple[int, int]]) -> None:
        self._name = name
        self._read = read
        self._left = deque(_parts(ranges))
        self._under_way: deque[tuple[int, int, Future[Any]]] = deque()
        self._ask(paced=True)

    def begins(self, start: int) -> bool:
        """Whether the next part begins there."""
        return bool(self._under_way) and self._under_way[0][0] == start

    def covers(self, offset: int) -> bool:
        """Whether a part that is still to come holds a place."""
        places = [(start, end) for start, end, _ in self._under_way]
        return any(start <= offset < end for start, end in (*places, *self._left))

    def next(self) -> tuple[int, memoryview]:
        """The next part, with where it begins.

        Raises:
            IndexError: There is no more.
            SourceError: It cannot be read.
        """
        start, _, future = self._under_way[0]
        data = memoryview(self._answer(future))
        self._under_way.popleft()
        self._ask()
        return start, data

    def __iter__(self) -> Iterator[memoryview]:
        while self._under_way:
            yield self.next()[1]

    def close(self) -> None:
        """End what is under way."""
        for *_, future in self._under_way:
            future.cancel()
        self._under_way.clear()
        self._left.clear()

    def _answer(self, future: Future[Any]) -> Any:
        try:
            return future.result(_SILENT)
        except TimeoutError:
            if future.done():  # it is the answer
                raise
            logger.warning(
                "%s: its store has not answered for %.0f s; it is asked again in time",
                self._name,
                _SILENT,
            )
            return future.result()

    def _ask(self, *, paced: bool = False) -> None:
        before = 0
        while self._left and len(self._under_way) < _AHEAD:
            start, end = self._left.popleft()
            request = self._after(before // _PACE / 1000 if paced else 0, start, end)
            self._under_way.append((start, end, begun(request)))
            before += end - start

    async def _after(self, seconds: float, start: int, end: int) -> Any:
        if seconds:
            await asyncio.sleep(seconds)
        return await self._read(start, end)


def _parts(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges, cut into what one request asks for each."""
    length = _FIRST
    for start, end in ranges:
        at = start
        while at < end:
            yield at, min(end, at + length)
            at += length
            length = min(2 * length, _PART)
