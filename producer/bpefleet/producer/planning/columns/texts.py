"""Many short strings in little memory."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Texts:
    """Strings one after the other in one piece: a `str` each takes several times their bytes.

    What was never set is empty.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        if index >= len(self._ends):
            return ""
        begin = self._ends[index - 1] if index else 0
        return self._data[begin : self._ends[index]].decode()

    def append(self, text: str) -> None:
        """Add one. Another thread may be reading: it is there once `len` counts it."""
        self._data += text.encode()
        self._ends.append(len(self._data))

    def put(self, index: int, text: str) -> None:
        """Set one after all others; those between are empty."""
        self._ends.extend([len(self._data)] * (index - len(self._ends)))
        self.append(text)

    def extend(self, texts: Iterable[str]) -> None:
        """Add several."""
        parts = [text.encode() for text in texts]
        ends = accumulate(map(len, parts), initial=len(self._data))
        next(ends)
        self._data += b"".join(parts)
        self._ends.extend(ends)

    def part(self, first: int, end: int) -> list[str]:
        """Some of them."""
        return [self[index] for index in range(first, end)]

    def __contains__(self, part: str) -> bool:
        """Whether some characters are in any of them; to be asked of such as are in no two."""
        return part.encode() in self._data
