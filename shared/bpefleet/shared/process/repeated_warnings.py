"""Limits how often one kind of warning is logged.

Whoever can write to Redis, or reach a port, can cause the same warning a million times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging

FEW: Final = 5
"""Warnings of one kind that are logged in full. After them only their number is logged."""


class RepeatedWarnings:
    """Logs the first five warnings of a kind, then the count at the 10th, 100th and so on."""

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """Begin with none.

        Args:
            logger: Takes the warnings.
            what: The end of the sentence that begins with the count: "events were left aside".
        """
        self._logger = logger
        self._what = what
        self._met = 0
        self._logged = 0
        self._next = 10

    def tell(self, text: str, **about: object) -> None:
        """Count one more, and log it if it is among the first; `about` are the record's fields."""
        self._met += 1
        if self._met <= FEW:
            self._logger.warning("%s", text, extra=about)
            self._logged = self._met
        elif self._met == self._next:
            self._next *= 10
            self.sum_up()

    def sum_up(self) -> None:
        """Log the count, unless it is what was logged last."""
        if self._met > self._logged:
            self._logger.warning("%s %s", f"{self._met:,}", self._what)
            self._logged = self._met
