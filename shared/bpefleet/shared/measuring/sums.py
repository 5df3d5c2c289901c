"""What is measured of a tokenizer on some documents: exact sums, which add up.

So the figures are the same however the documents are divided among chunks, workers and batches.
"""

from __future__ import annotations

from operator import add, mul
from typing import TYPE_CHECKING, Final

from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUANTITIES: Final = ("bytes", "characters", "words", "tokens", "continued", "reference")
"""What each document is measured by: its size, words by UAX #29, the tokenizer's tokens, the words
within which a token ends, the tokens of the tokenizer that it is compared with.
"""
RATIOS: Final = {
    "bytes_per_token": ("bytes", "tokens"),
    "characters_per_token": ("characters", "tokens"),
    "tokens_per_word": ("tokens", "words"),
    "continued_words": ("continued", "words"),
    "against_first": ("tokens", "reference"),
}
"""Figures that are a sum by another, each with what it is of."""
_PRODUCTS: Final = tuple(
    sorted(
        {(one, one) for one in QUANTITIES} | {(min(pair), max(pair)) for pair in RATIOS.values()}
    )
)


class Measured(Message, frozen=True):
    """Sums over documents.

    Attributes:
        documents: How many there are.
        changed: Those of them that decoding does not give back.
        sums: Of each of `QUANTITIES`.
        products: Of the products of two of these in a document, as intervals need them.
        ids: How often each id occurs.
    """

    documents: int = 0
    changed: int = 0
    sums: tuple[int, ...] = (0,) * len(QUANTITIES)
    products: tuple[int, ...] = (0,) * len(_PRODUCTS)
    ids: dict[int, int] = {}  # noqa: RUF012  a struct's default is made anew

    @classmethod
    def of(
        cls, documents: Mapping[str, Sequence[int]], ids: Mapping[int, int], *, changed: int
    ) -> Measured:
        """Those of some documents.

        Args:
            documents: For each of `QUANTITIES` the documents' numbers.
            ids: How often each id occurs.
            changed: Documents that decoding does not give back.
        """
        return cls(
            documents=len(documents["bytes"]),
            changed=changed,
            sums=tuple(sum(documents[name]) for name in QUANTITIES),
            products=tuple(sum(map(mul, documents[a], documents[b])) for a, b in _PRODUCTS),
            ids=dict(ids),
        )

    def plus(self, more: Measured) -> Measured:
        """These sums and those of other documents."""
        ids = dict(self.ids)
        for number, count in more.ids.items():
            ids[number] = ids.get(number, 0) + count
        return Measured(
            documents=self.documents + more.documents,
            changed=self.changed + more.changed,
            sums=tuple(map(add, self.sums, more.sums)),
            products=tuple(map(add, self.products, more.products)),
            ids=ids,
        )

    def sum_of(self, name: str) -> int:
        """The sum of one of `QUANTITIES`."""
        return self.sums[QUANTITIES.index(name)]

    def product_of(self, one: str, other: str) -> int:
        """The sum over documents of the product of two of them."""
        return self.products[_PRODUCTS.index((min(one, other), max(one, other)))]
