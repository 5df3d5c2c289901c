"""Weights of sources: exact fractions, and the whole numbers by which counts are multiplied."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WRITTEN: Final = re.compile(
    r"\s*(?:(\d{1,20})\s*/\s*(\d{1,20})|(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE]([+-]?[01]?\d))?)\s*",
    re.ASCII,
)
_FRACTION: Final = re.compile(r"([0-9]{1,50})(?:/([0-9]{1,50}))?")
_LONG: Final = 40
"""Characters of an error's cause that are shown."""
_MOST: Final = (1 << 64) - 1
"""What the kernel's counts hold."""


def exact(given: object, what: str) -> Fraction:
    """A number as it is written, exactly: 0.1 is a tenth.

    Args:
        given: An `int`, a `Decimal`, a `Fraction`, a `float`, which stands for the shortest
            decimal that Python shows of it, or any of these as text.
        what: What it is, for errors.

    Raises:
        UsageError: It is no such number, or negative, or has more than 20 digits.
    """
    if isinstance(given, str | int | float | Decimal | Fraction) and not isinstance(given, bool):
        match = _WRITTEN.fullmatch(given if isinstance(given, str) else _text(given))
        if match is not None and match[1] and int(match[2]):
            return Fraction(int(match[1]), int(match[2]))
        if match is not None and match[3]:
            return Fraction(match[3]) * Fraction(10) ** int(match[4] or 0)
    raise UsageError(
        f"{what} is {_shown(given)}",
        hint="a number, 0 or more and of 20 digits at the most: 3, 0.5, or 1/3 as text",
    )


def _text(number: float | Decimal | Fraction) -> str:
    if isinstance(number, int):  # the system's limit for text is beyond any weight
        return str(number) if 0 <= number <= _MOST else "too large"
    return str(number)


def _shown(given: object) -> str:
    if isinstance(given, int) and abs(given) > _MOST:
        return "too large"
    shown = repr(given)
    return shown if len(shown) <= _LONG else f"{shown[:_LONG]}…"


def read_fraction(text: str) -> Fraction | None:
    """A fraction as a plan has it, `3/2`; None if it is none."""
    match = _FRACTION.fullmatch(text)
    if match is None or match[2] == "0" * len(match[2] or ""):
        return None
    return Fraction(text)


@dataclass(frozen=True, slots=True)
class Scale:
    """Weights as whole numbers: the least that have the same ratios.

    To multiply all counts by one number changes no comparison of theirs.

    Attributes:
        times: For each source how often its counts count.
        unit: What a count of 1 on this scale means by the weights: each is `times` times this.
    """

    times: tuple[int, ...]
    unit: Fraction

    @classmethod
    def of(cls, weights: Sequence[Fraction]) -> Scale:
        """The scale of some weights, not all of them 0."""
        common = math.lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * common) for weight in weights]
        divisor = math.gcd(*whole) or 1
        return cls(tuple(each // divisor for each in whole), Fraction(divisor, common))

    def least(self, frequency: int) -> int:
        """The least count on this scale that is no less than a frequency by the weights."""
        return math.ceil(frequency / self.unit)

    def demand_room(self, text: Iterable[int], names: Sequence[str]) -> None:
        """Make sure that no sum of counts needs more than 64 bits.

        Args:
            text: Bytes of text of each source, which no count and no sum of lengths exceeds.
            names: What the sources are called.

        Raises:
            UsageError: One might.
        """
        total = sum(times * size for times, size in zip(self.times, text, strict=True))
        if total <= _MOST and all(times <= _MOST for times in self.times):
            return
        said = ", ".join(
            f"{name or 'unnamed'} {n}" for name, n in zip(names, self.times, strict=True)
        )
        raise UsageError(
            f"the weights are too fine: as whole numbers they are {said}, and with so much text "
            "the sums of counts would need more than 64 bits",
            hint="give weights of fewer digits; counts that are there stay: "
            "bpefleet merge DIR --weight NAME=WEIGHT -o OUT",
        )
