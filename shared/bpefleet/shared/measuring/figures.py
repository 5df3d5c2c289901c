"""The figures that are told of a tokenizer on a source, from what was summed up.

Intervals are those of ratio estimators: the documents are taken for a random sample of all such
texts, and the variance of the ratio r of two sums Y / X over n documents is, to the first order,

    n / (n - 1) * sum((y - r x)**2) / X**2

(W. G. Cochran, Sampling Techniques, 3rd edition, 1977, chapter 6). Nothing is drawn at random, and
the sums of squares and products add up, so intervals are exact numbers of the documents, too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bpefleet.shared.measuring.sums import RATIOS
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.measuring.sums import Measured

ALPHA: Final = 2.5
"""The order of the entropy: that with which Zouhar et al. found the strongest correlation."""
_QUANTILE: Final = 1.959964
"""Of the normal distribution, for 95 %."""


class Ratio(Message, frozen=True):
    """A ratio, and the interval that has the ratio of all such texts with a confidence of 95 %.

    Attributes:
        value: The ratio; None if there is nothing to divide by.
        low: The interval's lower end; None of a single document.
        high: Likewise its upper end.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Figures(Message, frozen=True):
    """A tokenizer on a source.

    Attributes:
        documents: Documents measured.
        bytes: Bytes of them.
        characters: Code points.
        words: Words, by the word boundaries of UAX #29.
        tokens: Tokens that they become.
        bytes_per_token: Compression: more are fewer tokens.
        characters_per_token: Likewise.
        tokens_per_word: Fertility.
        continued_words: The share of words within which a token ends.
        against_first: Tokens by those of the first tokenizer.
        unused: The share of the vocabulary, without special tokens, that does not occur.
        renyi_efficiency: See `renyi_efficiency`, on the vocabulary without special tokens.
        changed: Documents that decoding does not give back.
    """

    documents: int
    bytes: int
    characters: int
    words: int
    tokens: int
    bytes_per_token: Ratio
    characters_per_token: Ratio
    tokens_per_word: Ratio
    continued_words: Ratio
    against_first: Ratio
    unused: float
    renyi_efficiency: float | None
    changed: int


def figures(measured: Measured, vocabulary: int) -> Figures:
    """The figures.

    Args:
        measured: The sums.
        vocabulary: Tokens of the vocabulary, without special ones.
    """
    ratios = {name: ratio(measured, *pair) for name, pair in RATIOS.items()}
    return Figures(
        documents=measured.documents,
        bytes=measured.sum_of("bytes"),
        characters=measured.sum_of("characters"),
        words=measured.sum_of("words"),
        tokens=measured.sum_of("tokens"),
        unused=1 - len(measured.ids) / vocabulary,
        renyi_efficiency=renyi_efficiency(measured.ids.values(), vocabulary),
        changed=measured.changed,
        **ratios,
    )


def ratio(measured: Measured, above: str, below: str) -> Ratio:
    """The ratio of two sums, with its interval."""
    count, y, x = measured.documents, measured.sum_of(above), measured.sum_of(below)
    if not x:
        return Ratio()
    value = Fraction(y, x)
    if count == 1:
        return Ratio(float(value))
    squares = (
        measured.product_of(above, above)
        - 2 * value * measured.product_of(above, below)
        + value * value * measured.product_of(below, below)
    )
    error = _QUANTILE * math.sqrt(Fraction(count, count - 1) * squares) / x
    return Ratio(float(value), float(value) - error, float(value) + error)


def renyi_efficiency(counts: Iterable[int], vocabulary: int, alpha: float = ALPHA) -> float | None:
    """The Rényi entropy of the tokens' distribution by the most that it could be.

    With p the share of each token: log(sum(p**alpha)) / (1 - alpha) / log(vocabulary). From Zouhar
    et al., Tokenization and the Noiseless Channel (ACL 2023), and as they compute it
    (zouharvi/tokenization-scorer, `tokenization_scorer/metrics.py`). Theirs divides by the number
    of different tokens that occur, unless told the vocabulary's size. Here it always is that of the
    vocabulary: else tokens that are never used would cost nothing.

    Args:
        counts: How often each token occurs.
        vocabulary: How many tokens there are.
        alpha: The order of the entropy, not 1.

    Returns:
        From 0, if a single token is used, to 1, if all are used alike. None without any tokens, or
        if there is but one.
    """
    counts = list(counts)
    total = sum(counts)
    if not total or vocabulary < 2:  # noqa: PLR2004  see above
        return None
    power = math.fsum((count / total) ** alpha for count in counts)
    return abs(math.log(power) / (1 - alpha) / math.log(vocabulary))
