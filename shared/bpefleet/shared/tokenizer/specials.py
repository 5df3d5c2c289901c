"""Finding special tokens in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def split_special(special_tokens: Iterable[str]) -> re.Pattern[str] | None:
    """A regex that finds special tokens: leftmost, the longest of those at one place."""
    ordered = sorted(special_tokens, key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None
