"""How much text a corpus holds, as far as that can be told before all of it is counted."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from bpefleet.producer.planning.plan import Plan


class ExpectedText:
    """The plan's expectation, corrected by what was read.

    Only of plain text does the plan know how much there is. What is left of a corpus is expected to
    be out by as much as what was counted; once all is counted, the sum is what was read.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._total = plan.total_bytes
        self._is_known = plan.totals.files > 0 and plan.totals.exact
        self._chunks = array("Q")

    def total(self, counted: Collection[int], read: int) -> int:
        """Bytes of text in all.

        Args:
            counted: The chunks that are counted. Threads may add to a `ChunkSet` meanwhile.
            read: Bytes of text in them.
        """
        if self._is_known:
            return self._total
        self._see()
        expected = sum(map(self._chunks.__getitem__, counted))
        left = self._total - expected
        return read + (left * read // expected if read and expected else left)

    def _see(self) -> None:
        """Look at the chunks that are new: of a corpus that arrives, there are more and more."""
        plan, known = self._plan, len(self._chunks)
        if new := range(known, plan.chunk_count):
            self._chunks.extend(map(plan.chunk_bytes, new))
            self._total = plan.total_bytes
