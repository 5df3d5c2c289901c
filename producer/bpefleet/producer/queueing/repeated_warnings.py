"""Limits how often one kind of warning is printed.

Whoever can write to Redis can cause the same warning a million times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FEW: Final = 5
"""Warnings of one kind that are printed in full. After them only their number is printed."""


class RepeatedWarnings:
    """Prints the first five warnings of a kind, then the count at the 10th, 100th and so on."""

    def __init__(self, warn: Callable[[str], None], what: str) -> None:
        """Begin with none.

        Args:
            warn: Prints a warning.
            what: The end of the sentence that begins with the count: "events were left aside".
        """
        self._warn = warn
        self._what = what
        self._met = 0
        self._told = 0
        self._next = 10

    def tell(self, text: str) -> None:
        """Count one more, and print `text` if it is among the first."""
        self._met += 1
        if self._met <= FEW:
            self._warn(text)
            self._told = self._met
        elif self._met == self._next:
            self._next *= 10
            self.sum_up()

    def sum_up(self) -> None:
        """Print the count, unless it is what was printed last."""
        if self._met > self._told:
            self._warn(f"{self._met:,} {self._what}")
            self._told = self._met
