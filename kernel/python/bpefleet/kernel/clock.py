"""How long reading takes, apart from what is done with what was read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


class ReadClock:
    """Adds up the time that an iterator takes to bring its items.

    Attributes:
        seconds: So far.
    """

    seconds = 0.0

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The same items, timed."""
        source = iter(items)
        while True:
            start = time.perf_counter()
            try:
                item = next(source)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - start
            yield item
