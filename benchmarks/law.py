"""The law of a text's pre-tokens, fitted and drawn from.

Of the first *n* pre-tokens of a text *k* · *n*^β are different (Heaps). That is what draws from
frequencies give whose tail falls as rank^(-1/β) (Zipf): draws from *c* · rank^(-1/β) have
Γ(1 - β) · (*c* · *n*)^β different ones. Both are measured, each by itself.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import linear_regression
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_EULER: Final = 0.5772


def line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit a power law by least squares of the logarithms.

    Returns:
        The exponent and the factor.
    """
    fitted = linear_regression([math.log(x) for x, _ in points], [math.log(y) for _, y in points])
    return fitted.slope, math.exp(fitted.intercept)


@dataclass(frozen=True, slots=True)
class Law:
    """How many different pre-tokens there are, and how often.

    Attributes:
        beta: Heaps' exponent, between 0 and 1.
        scale: Heaps' factor.
    """

    beta: float
    scale: float

    def different(self, pretokens: float) -> float:
        """How many of so many pre-tokens are different."""
        return float(self.scale * pretokens**self.beta)

    @property
    def tail(self) -> float:
        """The probability of a rank in the tail, times rank^(1/β)."""
        return float((self.scale / math.gamma(1 - self.beta)) ** (1 / self.beta))

    @property
    def head(self) -> float:
        """How many ranks fall as 1/rank, before the tail begins, so that all add up to one."""
        slope = 1 / self.beta
        least, most = 1.0, 1e9
        while most / least > 1 + 1e-9:
            middle = math.sqrt(least * most)
            sum_of_all = math.log(middle) + _EULER + 1 / (slope - 1)
            if middle ** (slope - 1) / sum_of_all < self.tail:
                least = middle
            else:
                most = middle
        return least

    def draw(self, pretokens: int, seed: int) -> dict[int, int]:
        """The ranks, from 1 on, of so many pre-tokens, and how often each is among them.

        Ranks that are expected once or more are as often as expected, the rarer ones are drawn.
        """
        chance = random.Random(seed)
        slope, head = 1 / self.beta, self.head
        often = pretokens * self.tail
        sure = max(int(often**self.beta), int(head))
        drawn = {
            rank: max(1, round(often / (max(rank, head) ** (slope - 1) * rank)))
            for rank in range(1, sure + 1)
        }
        for _ in range(round(often * sure ** (1 - slope) / (slope - 1))):
            rank = int((sure + 1) * (1 - chance.random()) ** (-1 / (slope - 1)))
            drawn[rank] = drawn.get(rank, 0) + 1
        return drawn
