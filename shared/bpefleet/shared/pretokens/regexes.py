"""Whether a regex of the user's can split text, as the `regex` package (slow to import) sees it."""

from __future__ import annotations

from math import prod
from typing import Final

import regex

from bpefleet.shared.errors import UsageError

_LONGEST: Final = 10_000
_MOST_UNROLLED: Final = 10_000
"""Characters of a regex, and the product of its counts of repetition, at the most."""

# In verbose mode, spaces and comments may lie even between the digits of a count.
_COUNT: Final = regex.compile(r"\{((?:[\d,\s]|#.*\n)+)\}")
_NOT_COUNTED: Final = regex.compile(r"#.*\n|\s")
_RECURSION: Final = regex.compile(r"\(\?(?:R|[+-]?\d|&|P>)")


def demand_usable(pattern: str) -> None:
    """Refuse a user's regex that cannot split text.

    Raises:
        UsageError: It is too large, does not compile, or matches the empty text.
    """
    _demand_bounded(pattern)
    try:
        matches_empty = regex.compile(pattern).fullmatch("", timeout=1) is not None
    except (regex.error, RecursionError, TimeoutError) as error:
        raise UsageError(
            f"the pattern does not compile: {error}: {pattern}",
            hint="the syntax is that of the `regex` package",
        ) from None
    if matches_empty:
        raise UsageError(
            f"the pattern matches the empty text: {pattern}",
            hint="every alternative must take at least one character: `+` instead of `*`",
        )


def _demand_bounded(pattern: str) -> None:
    """Refuse a regex that would take the memory of a machine to compile: `((a{999}){999}){999}`.

    `regex` unrolls counted repetition. The product of all counts bounds what nesting can do, and
    is far from the limit in any rule that splits text; counts within a set are counted too.
    """
    size = prod(_greatest(count) for count in _COUNT.findall(pattern))
    if _RECURSION.search(_NOT_COUNTED.sub("", pattern)):
        # `regex` recurses without end or time-out where that takes no text, as in `(?R)`.
        raise UsageError(f"the pattern refers to itself: {pattern}", hint="write it without that")
    if len(pattern) > _LONGEST or size > _MOST_UNROLLED:
        raise UsageError(
            f"the pattern is too large ({len(pattern)} characters, counts that multiply to {size})",
            hint=f"at most {_LONGEST} characters, and {_MOST_UNROLLED} for the product of all "
            "counts in braces",
        )


def _greatest(count: str) -> int:
    numbers = _NOT_COUNTED.sub("", count).split(",")
    return max(1, *(int(number[:9] or 1) for number in numbers))
