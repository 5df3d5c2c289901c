"""A course keeps a bounded number of points, and the whole of its time."""

from __future__ import annotations

import itertools

from bpefleet.producer.observing.time_series import TimeSeries


def test_a_long_course_has_few_points_over_all_its_time() -> None:
    course = TimeSeries[int](10)
    for second in range(10_000):
        if course.due(float(second)):
            course.add(float(second), second)
        assert len(course.points) <= 10
    times = [time for time, _ in course.points]
    assert times == sorted(times)
    assert times[0] == 0.0
    assert times[-1] > 8000
    assert len(times) >= 5
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert max(gaps) <= 4 * min(gaps)
    assert all(time == value for time, value in course.points)


def test_the_first_point_is_always_due() -> None:
    assert TimeSeries[int](10).due(0.0)
