"""Throughput over time and by workers at once, from histories made by hand."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from bpefleet.producer.reports.document import Chart, Paragraph, Table
from bpefleet.producer.reports.sections.rates import Level, Stretch, over_time, scaling, stretches
from bpefleet.producer.reports.sections.throughput import throughput
from bpefleet.producer.store.history import COUNTED, Attempt

MB = 1_000_000


def end(start: float, until: float, size: float = 1, worker: str = "w1") -> Attempt:
    """An attempt that counted so many megabytes in so many seconds after the epoch's 1000th."""
    return Attempt(
        0, COUNTED, "", worker, 1000.0 + start, 1000.0 + until, 0, bytes_read=int(size * MB)
    )


def test_time_is_cut_where_an_attempt_starts_or_ends() -> None:
    course = stretches([end(0, 4, 4), end(2, 6, 8, "w2")])
    assert course == [Stretch(2, 1, MB), Stretch(2, 2, 3 * MB), Stretch(2, 1, 2 * MB)]
    assert scaling(course) == [Level(1, 4, 1.5 * MB), Level(2, 2, 3 * MB)]


def test_one_attempt_right_after_another_is_one_worker() -> None:
    course = stretches([end(0, 2), end(2, 3), end(3, 7)])
    assert [level.workers for level in scaling(course)] == [1]


def test_pauses_are_left_out_and_waits_are_not() -> None:
    course = stretches([end(0, 1), end(4, 5), end(5000, 5001)])
    assert [stretch.seconds for stretch in course] == pytest.approx([1, 3, 1, 1])
    assert [stretch.workers for stretch in course] == [1, 0, 1, 1]
    assert scaling(course) == [Level(1, 3, MB)]


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_all_text_is_in_the_points_whatever_their_number(count: int) -> None:
    ends = [end(0.37 * i, 0.37 * i + 1.1, 0.5 + i % 3) for i in range(count)]
    points = over_time(stretches(ends))
    seconds = [second for second, _ in points]
    width = seconds[0]
    assert 1 <= len(points) <= 20
    assert seconds == pytest.approx([width * (i + 1) for i in range(len(points))])
    assert seconds[-1] == pytest.approx(ends[-1].ended - ends[0].started)
    counted = sum(rate * width for _, rate in points)
    assert counted == pytest.approx(sum(end.bytes_read for end in ends))


def test_the_rate_is_that_of_its_part_of_the_time() -> None:
    points = over_time(stretches([end(0, 1, 1), end(1, 2, 3), end(2, 4, 1)]))
    assert [rate for _, rate in points] == pytest.approx([1.5 * MB, 1.75 * MB, 0.5 * MB])


def test_odd_clocks_are_passed_over() -> None:
    odd = [
        replace(end(0, 1), started=0.0),  # unknown
        end(5, 5),
        end(5, 4),
        replace(end(0, 1), ended=math.inf),
        replace(end(0, 1), started=-1e300),
    ]
    assert stretches(odd) == []
    assert over_time([]) == []
    assert stretches([*odd, end(0, 1)]) == [Stretch(1, 1, MB)]


def test_a_number_of_workers_that_was_rare_is_left_out() -> None:
    course = stretches([end(0, 100), end(0, 99, worker="w2"), end(50, 50.5, worker="w3")])
    assert [level.workers for level in scaling(course)] == [2]
    parts = list(throughput([end(0, 100), end(0, 99, worker="w2")]))
    assert [type(part) for part in parts[1:]] == [Chart, Table, Paragraph]
    (reason,) = (part.text for part in parts if isinstance(part, Paragraph))
    assert "No scaling is shown: 2 at once was the only number" in reason


def test_the_report_tells_both_and_how() -> None:
    parts = list(throughput([end(0, 4, 4), end(2, 4, 3, "w2")]))
    over, by_workers = (part for part in parts if isinstance(part, Chart))
    assert over.shape == "steps"
    assert (over.positions[0], over.positions[-1]) == (0.0, 4.0)
    assert by_workers.shape == "bars"  # numbers of workers need not be evenly spaced
    assert (by_workers.labels, by_workers.values) == (("1", "2"), (1.0, 2.5))
    table = [part for part in parts if isinstance(part, Table)][-1]
    assert table.rows == (
        ("1", "2.00", "1.0", "1.0", "100 %"),
        ("2", "2.00", "2.5", "1.2", "125 %"),
    )
    assert isinstance(parts[-1], Paragraph)
    assert parts[-1].text.startswith("How it is computed")


def test_a_history_without_times_is_said() -> None:
    parts = list(throughput([replace(end(0, 1), started=0.0)]))
    assert [type(part) for part in parts[1:]] == [Paragraph]
