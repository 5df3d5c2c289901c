"""Which chunks of a run are meant: a byte for each, where a set takes a hundred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from collections.abc import Set as AbstractSet
from itertools import compress
from typing import Final

_BITS: Final = 12
_PAGE: Final = 1 << _BITS
"""Chunks of a page: those beside each other are mostly in a set together, or will be."""


class ChunkSet(MutableSet[int]):
    """A set of indexes, in their order. Another thread may look at it while one changes it."""

    __slots__ = ("_count", "_pages")

    def __init__(self, chunks: Iterable[int] = ()) -> None:
        """Put some into it."""
        self._count = 0
        self._pages: dict[int, bytearray] = {}
        self.update(chunks)

    def __contains__(self, chunk: object) -> bool:
        if not isinstance(chunk, int):
            return False
        page = self._pages.get(chunk >> _BITS)
        return page is not None and page[chunk % _PAGE] != 0

    def __iter__(self) -> Iterator[int]:
        for number in sorted(self._pages):
            page = bytes(self._pages[number])  # as it is now
            yield from compress(range(number << _BITS, (number + 1) << _BITS), page)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AbstractSet) or len(self) != len(other):
            return False
        return all(chunk in other for chunk in self)

    __hash__ = None  # type: ignore[assignment]  # it can be added to

    def add(self, value: int) -> None:
        """Put a chunk into it."""
        number = value >> _BITS
        if (page := self._pages.get(number)) is None:
            page = self._pages[number] = bytearray(_PAGE)
        if not page[value % _PAGE]:
            page[value % _PAGE] = 1
            self._count += 1

    def discard(self, value: int) -> None:
        """Take a chunk out of it, if it is there."""
        if value in self:
            self._pages[value >> _BITS][value % _PAGE] = 0
            self._count -= 1

    def update(self, chunks: Iterable[int]) -> None:
        """Put some into it."""
        for chunk in chunks:
            self.add(chunk)

    def difference_update(self, chunks: Iterable[int]) -> None:
        """Take some out of it."""
        for chunk in chunks:
            self.discard(chunk)
