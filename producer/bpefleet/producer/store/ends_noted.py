"""Which ends of attempts are in a history: eight bytes for most chunks."""

from __future__ import annotations

from array import array
from typing import Final

_NONE: Final = 0
"""Stands for no end."""
_AHEAD: Final = 1 << 16
"""So many chunks beyond twice as many as before have a place at once: they end about in order, and
what a damaged history tells is not to take more memory than it has bytes.
"""


class EndsNoted:
    """Hashes of ends, as an end itself would take a quarter of a kB.

    Were two of 2^64 the same, the history would lack one. Most chunks have one end: it has its
    place by the chunk's index. All others are in a set.
    """

    def __init__(self) -> None:
        self._first: dict[str, array[int]] = {}
        self._others: set[int] = set()

    def note(self, job: str, chunk: int, attempt: str, outcome: str) -> None:
        """Note how an attempt at a chunk ended."""
        end = _hash(job, chunk, attempt, outcome)
        first = self._first.setdefault(job, array("q"))
        if len(first) <= chunk <= 2 * len(first) + _AHEAD:
            first.extend([_NONE] * (chunk + 1 - len(first)))
        if chunk < len(first) and first[chunk] in (_NONE, end):
            first[chunk] = end
        else:
            self._others.add(end)

    def has(self, job: str, chunk: int, attempt: str, outcome: str) -> bool:
        """Whether that is noted."""
        end = _hash(job, chunk, attempt, outcome)
        first = self._first.get(job, ())
        return (chunk < len(first) and first[chunk] == end) or end in self._others


def _hash(job: str, chunk: int, attempt: str, outcome: str) -> int:
    return hash((job, chunk, attempt, outcome)) or 1
