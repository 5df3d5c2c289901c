"""Estimates how many different pre-tokens several chunks hold, without folding them.

If 64-bit hashes are spread evenly, their number is about (k - 1) / r, where r is the k-th least
hash as a share of the range. Bar-Yossef et al., Counting Distinct Elements in a Data Stream
(2002); Beyer et al., On Synopses for Distinct-Value Estimation (2007). Its standard error is
1 / sqrt(k - 2): 2 % for the kernel's `SAMPLE`. Up to that many, the number is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.kernel import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_RANGE: Final = 1 << 64


class Distinct:
    """The least hashes seen."""

    def __init__(self) -> None:
        self._least: list[int] = []

    def see(self, hashes: Iterable[int]) -> None:
        """Take in the `least_hashes` of a payload."""
        # Two sorted runs: sorting merges them.
        self._least = list(dict.fromkeys(sorted([*self._least, *hashes])))[:SAMPLE]

    @property
    def least(self) -> Sequence[int]:
        """The least hashes of all that was seen, ascending."""
        return self._least

    @property
    def estimate(self) -> int:
        """About how many different pre-tokens there are."""
        if len(self._least) < SAMPLE:
            return len(self._least)
        return (SAMPLE - 1) * _RANGE // (self._least[-1] + 1)
