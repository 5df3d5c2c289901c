"""A vocabulary without an object for each token, as it is kept where only the kernel reads it."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


class Packed:
    """Byte strings in a row. Each time that they are gone through, they are made anew."""

    def __init__(self, each: Collection[bytes]) -> None:
        """Pack them."""
        self._bytes = b"".join(each)
        self._ends = array("Q", accumulate(map(len, each), initial=0))

    def __iter__(self) -> Iterator[bytes]:
        """Each in turn."""
        return (self._bytes[start:end] for start, end in pairwise(self._ends))


class PackedRanks:
    """Tokens with their ids.

    A dictionary of 100,000 tokens takes some 15 MB, this some 2.
    """

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        """Pack them.

        Raises:
            OverflowError: An id has more than 64 bits, or is negative.
            TypeError: A token is no bytes, or an id no integer.
        """
        self.tokens = Packed(ranks)
        self.ids = array("Q", ranks.values())

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Each token with its id, in the order in which they came."""
        return zip(self.tokens, self.ids, strict=True)
