"""Whether bytes are UTF-8 text with some bad places, or something else altogether."""

from __future__ import annotations

from typing import Final

_ONE_IN: Final = 10
_IN_ANY: Final = 8
"""Bad places in so few bytes that their share says nothing."""
_REPLACEMENT: Final = "\ufffd"


def is_mostly_text(data: bytes) -> bool:
    """Whether at most a tenth of `data`, and eight more, is ill-formed sequences and NUL bytes.

    Random bytes are ill-formed by half, UTF-16 and the holes of sparse files are full of NUL bytes,
    and text in another encoding has a bad place for every letter beyond ASCII. Of damaged UTF-8
    only a few places are bad.

    Args:
        data: Some of it; where it begins and ends amid a character, enough for that not to matter.
    """
    text = data.decode("utf-8", "replace")
    bad = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode()) + text.count("\0")
    return _ONE_IN * (bad - _IN_ANY) <= len(text)
