"""What is said of a sum, held against what is known of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Totals(Protocol):
    """What a `wire.messages.Part` and the kernel's `PayloadInfo` have in common."""

    @property
    def pretokens(self) -> int:
        """Pre-tokens counted."""

    @property
    def unique(self) -> int:
        """Distinct pre-tokens."""

    @property
    def text(self) -> int:
        """Bytes of all pre-tokens, at the most."""


def untrue(made: Sequence[Totals], parts: Sequence[Totals]) -> str:
    """Why a sum, of which there may be several ranges, cannot be that of some parts.

    Empty if it can.
    """
    unique, each = sum(one.unique for one in made), [one.unique for one in parts]
    if sum(one.pretokens for one in made) != sum(one.pretokens for one in parts):
        return "it has another number of pre-tokens than its parts"
    if not max(each, default=0) <= unique <= sum(each):
        return "its different pre-tokens cannot be those of its parts"
    if sum(one.text for one in made) > sum(one.text for one in parts):
        return "it has more text than its parts"
    return ""
