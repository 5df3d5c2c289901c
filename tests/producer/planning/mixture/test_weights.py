"""Weights: exactly as they are written, and as whole numbers that change no comparison."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Counts, FoldedCounts, merge
from bpefleet.producer.planning.mixture.weights import Scale, exact, read_fraction
from bpefleet.shared.errors import UsageError
from tests import naive

DIGEST = bytes(32)


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        ("0.5", Fraction(1, 2)),
        ("1/3", Fraction(1, 3)),
        (Decimal("2.50"), Fraction(5, 2)),
        (Fraction(7, 4), Fraction(7, 4)),
        (1e-05, Fraction(1, 100_000)),
        (0, Fraction(0)),
    ],
)
def test_a_number_is_what_is_written(given_: Any, meant: Fraction) -> None:
    assert exact(given_, "weight") == meant
    assert read_fraction(str(meant)) == meant


@pytest.mark.parametrize(
    "odd",
    [
        -1, "x", "", "1/0", "1//2", True, None, [1], float("nan"), float("inf"), 1e300, "1e300",
        Decimal("1e999999999"), "9" * 5000, 10**5000, "٣",
    ],
    ids=lambda odd: type(odd).__name__ + str(odd)[:8] if not isinstance(odd, int) else "int",
)  # fmt: skip
def test_what_is_no_weight_is_refused(odd: Any) -> None:
    with pytest.raises(UsageError, match="weight is"):
        exact(odd, "weight")


weights = st.lists(st.fractions(0, 50, max_denominator=1000), min_size=1, max_size=4).filter(any)


@given(weights=weights, frequency=st.integers(0, 1000), count=st.integers(0, 10**6))
def test_the_scale_keeps_every_comparison(
    weights: list[Fraction], frequency: int, count: int
) -> None:
    scale = Scale.of(weights)
    assert [n * scale.unit for n in scale.times] == weights
    for weight, times in zip(weights, scale.times, strict=True):
        assert (count * times >= scale.least(frequency)) == (count * weight >= frequency)


words = st.dictionaries(st.text("abc", min_size=2, max_size=5), st.integers(1, 9), min_size=1)


@given(
    sources=st.lists(words, min_size=1, max_size=3),
    data=st.data(),
    tie_break=st.sampled_from(["lexmax", "rawid", "hf", "lexmin"]),
    frequency=st.integers(0, 20),
)
def test_weighted_counts_are_merged_as_by_definition(
    sources: list[dict[str, int]], data: st.DataObject, tie_break: str, frequency: int
) -> None:
    of_each = st.fractions(0, 20, max_denominator=12)
    weights = data.draw(st.lists(of_each, min_size=len(sources), max_size=len(sources)).filter(any))
    scale = Scale.of(weights)
    payloads, times = [], []
    expected: Counter[bytes] = Counter()
    common = 27720  # of all denominators up to 12
    for source, weight, often in zip(sources, weights, scale.times, strict=True):
        counts = Counts()
        counts.add_all(source)
        expected += Counter({w.encode(): int(n * weight * common) for w, n in source.items()})
        if often:
            payloads.append(counts.encode(DIGEST))
            times.append(often)
    folded = FoldedCounts(payloads, DIGEST, times)
    least = scale.least(frequency)
    made = merge(folded, 30, tie_break=tie_break, min_frequency=least).merges
    tokens = [bytes([byte]) for byte in range(256)]
    found = []
    for left, right, _ in made:
        found.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    by_definition = naive.merges(expected, tie_break, 30, min_frequency=frequency * common)
    assert found == by_definition


def test_what_needs_more_than_64_bits_is_refused() -> None:
    fine = Scale.of([Fraction("0.30000000000000004"), Fraction(1)])
    with pytest.raises(UsageError, match=r"web 7500000000000001, unnamed 25000000000000000"):
        fine.demand_room([1000, 1000], ["web", ""])
    most = (1 << 64) - 1
    Scale.of([Fraction(1)]).demand_room([most], ["web"])
    with pytest.raises(UsageError, match="64 bits"):
        Scale.of([Fraction(1), Fraction(1)]).demand_room([most, 1], ["a", "b"])
