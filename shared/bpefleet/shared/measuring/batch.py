"""Documents, until they are enough to be measured at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.shared.measuring.measure import Meter, measure
from bpefleet.shared.measuring.sums import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.measuring.candidates import Candidate

_BATCH: Final = 4_000_000
"""Characters of documents that are measured at once, about."""


class Batch:
    """Measures documents by each candidate."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._meters = [Meter(one) for one in candidates]
        self._found = [Measured() for _ in candidates]
        self._texts: list[str] = []
        self._size = 0

    def take(self, text: str) -> None:
        """Take a document."""
        self._texts.append(text)
        self._size += len(text)
        if self._size >= _BATCH:
            self._measure()

    def ended(self) -> list[Measured]:
        """The sums over all documents since the last time, by candidate."""
        self._measure()
        found, self._found = self._found, [Measured() for _ in self._meters]
        return found

    def _measure(self) -> None:
        if self._texts:
            more = measure(self._meters, self._texts)
            self._found = [a.plus(b) for a, b in zip(self._found, more, strict=True)]
        self._texts, self._size = [], 0
