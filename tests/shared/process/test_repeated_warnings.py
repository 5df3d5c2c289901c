"""Warnings that a stranger can cause without end are few."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bpefleet.shared.process.repeated_warnings import FEW, RepeatedWarnings

if TYPE_CHECKING:
    import pytest

logger = logging.getLogger(__name__)


def test_the_first_few_then_powers_of_ten_then_the_sum(caplog: pytest.LogCaptureFixture) -> None:
    few = RepeatedWarnings(logger, "were odd")
    for number in range(12_345):
        few.tell(f"number {number}")
    few.sum_up()
    first = [f"number {number}" for number in range(FEW)]
    counts = [f"{n} were odd" for n in ("10", "100", "1,000", "10,000", "12,345")]
    assert caplog.messages == first + counts


def test_nothing_is_said_twice(caplog: pytest.LogCaptureFixture) -> None:
    few = RepeatedWarnings(logger, "were odd")
    few.sum_up()
    for number in range(FEW):
        few.tell(str(number))
    few.sum_up()
    assert caplog.messages == [str(number) for number in range(FEW)]
    for _ in range(5):
        few.tell("more")
    few.sum_up()
    assert caplog.messages[FEW:] == ["10 were odd"]


def test_a_warning_has_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    RepeatedWarnings(logger, "were odd").tell("100 % odd", run="r", chunk=3)
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["run"], vars(record)["chunk"]) == (
        "100 % odd",
        "r",
        3,
    )
