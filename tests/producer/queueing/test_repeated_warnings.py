"""Warnings that a stranger can cause without end are few."""

from __future__ import annotations

from bpefleet.producer.queueing.repeated_warnings import FEW, RepeatedWarnings


def test_the_first_few_then_powers_of_ten_then_the_sum() -> None:
    told: list[str] = []
    few = RepeatedWarnings(told.append, "were odd")
    for number in range(12_345):
        few.tell(f"number {number}")
    few.sum_up()
    first = [f"number {number}" for number in range(FEW)]
    counts = [f"{n} were odd" for n in ("10", "100", "1,000", "10,000", "12,345")]
    assert told == first + counts


def test_nothing_is_said_twice() -> None:
    told: list[str] = []
    few = RepeatedWarnings(told.append, "were odd")
    few.sum_up()
    for number in range(FEW):
        few.tell(str(number))
    few.sum_up()
    assert told == [str(number) for number in range(FEW)]
    for _ in range(5):
        few.tell("more")
    few.sum_up()
    assert told[FEW:] == ["10 were odd"]
