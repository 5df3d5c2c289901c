"""A place in a user's regex that is being read, and the error when it cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re


class ForeignError(ValueError):
    """The engine may read a part of the regex otherwise; the text names the part."""


class Cursor:
    """A place in a regex."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    @property
    def ahead(self) -> str:
        """The next character; empty at the end."""
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        """Pass over a character."""
        self.at += 1
        return self.pattern[self.at - 1]

    def took(self, *texts: str) -> str:
        """The first of `texts` that comes next, passed over; empty if none does."""
        for text in texts:
            if self.pattern.startswith(text, self.at):
                self.at += len(text)
                return text
        return ""

    def match(self, what: re.Pattern[str]) -> re.Match[str] | None:
        """A match of `what` that comes next, passed over."""
        found = what.match(self.pattern, self.at)
        if found:
            self.at = found.end()
        return found

    def since(self, start: int) -> str:
        """What was passed over since a place."""
        return self.pattern[start : self.at]
