"""What the workers of a pool do and have done, in memory that they share with it."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import Final

_FORM: Final = struct.Struct("=?32sqqq")
"""A slot: busy or not, with which run; chunks counted, their bytes, failed attempts."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The contents of one slot, or the sums of several.

    Attributes:
        busy: Workers that are running a job now.
        runs: The runs that they work for, or last worked for.
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
        """These added to others."""
        return Noted(
            self.busy + more.busy,
            self.runs | more.runs,
            self.chunks + more.chunks,
            self.bytes + more.bytes,
            self.failed + more.failed,
        )


class Slot:
    """Where one worker and its work-horse note what they do, never both at once."""

    def __init__(self, memory: mmap.mmap, at: int) -> None:
        self._memory = memory
        self._at = at

    def begin(self, run: str) -> None:
        """A job of a run begins."""
        _, _, *sums = _FORM.unpack_from(self._memory, self._at)
        _FORM.pack_into(self._memory, self._at, True, run.encode(), *sums)

    def end(self) -> None:
        """The job is over, whether or not it succeeded."""
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
        """The contents."""
        busy, run, *sums = _FORM.unpack_from(self._memory, self._at)
        name = run.rstrip(b"\0").decode("utf-8", "replace")
        return Noted(int(busy), frozenset({name} if name else ()), *sums)


class Tally:
    """A slot for each worker of a pool. A worker that replaces a dead one gets its slot.

    It is made before the workers are forked.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, workers * _FORM.size)

    def slot(self, number: int) -> Slot:
        """One of the slots."""
        return Slot(self._memory, number * _FORM.size)

    def noted(self) -> Noted:
        """The sums of all slots."""
        found = Noted()
        for number in range(self.workers):
            found = found.plus(self.slot(number).noted())
        return found
