"""The chunks of a plan: where each ends. Together they are all the files, in order."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.planning.columns.files import Files

Part: TypeAlias = tuple[int, int, int]
"""The index of a file, and where in it a segment begins and ends."""


class Chunks(Sequence[tuple[Part, ...]]):
    """The chunks; each is put together when it is asked for."""

    def __init__(self, files: Files, ends: Iterable[tuple[int, int]] = ()) -> None:
        """Begin with the chunks that end at these places: a file's index, and a place in it."""
        self._files = files
        ends = [*ends]
        self._last = array("Q", (index for index, _ in ends))
        self._places = array("Q", (place for _, place in ends))

    def append(self, index: int, place: int) -> None:
        """Add a chunk, from the end of the one before. Another thread may be reading."""
        self._last.append(index)
        self._places.append(place)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> tuple[Part, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Part, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Part, ...] | list[tuple[Part, ...]]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        chunk = range(len(self._places))[index]
        first, start = self.begin(chunk)
        last, end = self._last[chunk], self._places[chunk]
        if first == last:
            return ((first, start, end),)
        extents = self._files.extents
        return (
            (first, start, extents[first]),
            *((index, 0, extents[index]) for index in range(first + 1, last)),
            (last, 0, end),
        )

    def __iter__(self) -> Iterator[tuple[Part, ...]]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chunks) and self.ends == other.ends

    __hash__ = None  # type: ignore[assignment]  # it can be added to

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Where each chunk ends: a file's index, and a place in it."""
        return list(zip(self._last, self._places, strict=True))

    def begin(self, chunk: int) -> tuple[int, int]:
        """Where a chunk begins: a file's index, and a place in it."""
        if chunk == 0:
            return 0, 0
        index, place = self._last[chunk - 1], self._places[chunk - 1]
        return (index, place) if place < self._files.extents[index] else (index + 1, 0)

    def hang_together(self) -> bool:
        """Whether each has something in it, and lies within the files."""
        count = len(self._files)
        before = (0, 0)
        for end in zip(self._last, self._places, strict=True):
            if not (end > before and end[0] < count and 0 < end[1] <= self._files.extents[end[0]]):
                return False
            before = end
        return True
