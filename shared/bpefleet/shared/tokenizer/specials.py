"""Special tokens in text: which are looked for, and found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from bpefleet.shared.errors import SpecialTokenError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    Special = Literal["all"] | Collection[str]


def split_special(special_tokens: Iterable[str]) -> re.Pattern[str] | None:
    """A regex that finds special tokens: leftmost, the longest of those at one place."""
    ordered = sorted(special_tokens, key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def allowed_special_tokens(
    special_tokens: Iterable[str], texts: Sequence[str], allowed: Special, disallowed: Special
) -> list[str] | None:
    """The special tokens that are looked for; None for all.

    Raises:
        SpecialTokenError: A text has one that is disallowed.
    """
    known = set(special_tokens)
    kept = known if allowed == "all" else known & set(allowed)
    refused = known - kept if disallowed == "all" else set(disallowed)
    if finder := split_special(refused):
        for text in texts:
            if match := finder.search(text):
                raise SpecialTokenError(
                    f"the text has the special token {match[0]!r}, which is disallowed",
                    hint="allow it by allowed_special, or take it for text by "
                    "disallowed_special=()",
                )
    return None if allowed == "all" else sorted(kept)
