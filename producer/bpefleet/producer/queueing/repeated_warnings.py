"""Warnings of what a stranger can repeat without end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

FEW: Final = 5
"""Of one kind, so many are told of one by one; of the others only how many there were."""


class Few:
    """Tells of the first few, then of the tenth, hundredth and so on, and in the end of all."""

    def __init__(self, warn: Callable[[str], None], what: str) -> None:
        """Begin with none.

        Args:
            warn: Tells the person.
            what: What is counted and what became of it, to follow a number.
        """
        self._warn = warn
        self._what = what
        self._met = 0
        self._told = 0
        self._next = 10

    def tell(self, text: str) -> None:
        """One more was met; `text` says all about it."""
        self._met += 1
        if self._met <= FEW:
            self._warn(text)
            self._told = self._met
        elif self._met == self._next:
            self._next *= 10
            self.sum_up()

    def sum_up(self) -> None:
        """Say how many there were, unless that was said."""
        if self._met > self._told:
            self._warn(f"{self._met:,} {self._what}")
            self._told = self._met
