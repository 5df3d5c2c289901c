"""Whether other libraries' regex engines can hold a rule: known before anything is counted."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bpefleet.shared.pretokens.patterns import CUSTOM

if TYPE_CHECKING:
    from bpefleet.shared.pretokens.patterns import Pattern


@lru_cache(maxsize=8)
def why_not_tiktoken(pattern: Pattern) -> str:
    """What keeps tiktoken's engine from splitting by a rule as `regex` does; empty if nothing."""
    if pattern.name != CUSTOM:
        return ""
    from bpefleet.shared.pretokens.translation.dialects import TIKTOKEN  # noqa: PLC0415  seldom needed
    from bpefleet.shared.pretokens.translation.translation import why_not  # noqa: PLC0415  likewise

    if why := why_not(pattern.splits[0], TIKTOKEN):
        return why
    import tiktoken  # noqa: PLC0415  slow to import

    try:  # it limits how large a regex may be
        tiktoken.Encoding(
            "", pat_str=pattern.tiktoken, mergeable_ranks={b"a": 0}, special_tokens={}
        )
    except ValueError as error:
        return str(error)
    return ""


def why_not_huggingface(pattern: Pattern) -> str:
    """What keeps the engine of tokenizers from splitting by a rule as `regex` does, if anything."""
    if pattern.name != CUSTOM:
        return ""
    from bpefleet.shared.pretokens.translation.dialects import HUGGINGFACE  # noqa: PLC0415  seldom needed
    from bpefleet.shared.pretokens.translation.translation import why_not  # noqa: PLC0415  likewise

    return why_not(pattern.splits[0], HUGGINGFACE)
