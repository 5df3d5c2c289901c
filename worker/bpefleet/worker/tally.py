"""What the workers of a pool do and did, in memory that they share with it."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Final

_FORM: Final = struct.Struct("=?32sqqq")
"""Busy or not, with which run; chunks counted, their bytes, attempts that failed."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What is noted at a desk, or at all together.

    Attributes:
        busy: Workers that are at a job just now.
        runs: The runs that they work for, or that they worked for last.
        chunks: Chunks counted.
        bytes: Their bytes.
        failed: Attempts that failed.
    """

    busy: int = 0
    runs: frozenset[str] = frozenset()
    chunks: int = 0
    bytes: int = 0
    failed: int = 0

    def plus(self, more: Noted) -> Noted:
        """These and some more."""
        return Noted(
            self.busy + more.busy,
            self.runs | more.runs,
            self.chunks + more.chunks,
            self.bytes + more.bytes,
            self.failed + more.failed,
        )


class Desk:
    """Where one worker, and its work-horse, note what they do: the two never at once."""

    def __init__(self, memory: mmap.mmap, at: int) -> None:
        self._memory = memory
        self._at = at

    def begin(self, run: str) -> None:
        """A job of a run begins."""
        _, _, *sums = _FORM.unpack_from(self._memory, self._at)
        _FORM.pack_into(self._memory, self._at, True, run.encode(), *sums)

    def end(self) -> None:
        """It is over, however it went."""
        _, *rest = _FORM.unpack_from(self._memory, self._at)
        _FORM.pack_into(self._memory, self._at, False, *rest)

    def counted(self, size: int) -> None:
        """A chunk is counted."""
        *who, chunks, total, failed = _FORM.unpack_from(self._memory, self._at)
        _FORM.pack_into(self._memory, self._at, *who, chunks + 1, total + size, failed)

    def failed(self) -> None:
        """An attempt failed."""
        *others, failed = _FORM.unpack_from(self._memory, self._at)
        _FORM.pack_into(self._memory, self._at, *others, failed + 1)

    def noted(self) -> Noted:
        """What is noted here."""
        busy, run, *sums = _FORM.unpack_from(self._memory, self._at)
        name = run.rstrip(b"\0").decode("utf-8", "replace")
        return Noted(int(busy), frozenset({name} if name else ()), *sums)


class Tally:
    """A desk for each worker of a pool. They stay when a worker dies: another one takes its place.

    Made before the workers are forked.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, workers * _FORM.size)

    def desk(self, number: int) -> Desk:
        """One of the desks."""
        return Desk(self._memory, number * _FORM.size)

    def noted(self) -> Noted:
        """What is noted at all of them."""
        found = Noted()
        for number in range(self.workers):
            found = found.plus(self.desk(number).noted())
        return found
