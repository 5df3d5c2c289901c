"""A time series of bounded length: the longer it gets, the further apart its points are."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class TimeSeries(Generic[T]):
    """Points in time, the oldest first.

    When there are too many, every second one is dropped, and from then on every second new one is
    left out. So a run of any length keeps at most `most` points, evenly spaced.

    Attributes:
        points: Unix seconds and what was the case then.
    """

    def __init__(self, most: int) -> None:
        """Begin with none.

        Args:
            most: How many points to keep.
        """
        self.points: list[tuple[float, T]] = []
        self._most = most
        self._every = 0.0

    def due(self, now: float) -> bool:
        """Whether it is time for another point."""
        return not self.points or now - self.points[-1][0] >= self._every

    def add(self, now: float, value: T) -> None:
        """Add a point."""
        self.points.append((now, value))
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._every = 2 * (self.points[-1][0] - self.points[0][0]) / self._most
