"""Parts of standard input that hold lines: a line is told by its number in the input."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"part-\d{5,}-lines-from-(\d{1,18})\.jsonl\.zst")


def lines_name(index: int, before: int) -> str:
    """The name of a part.

    Args:
        index: Its number, from 0.
        before: Lines of the input before it.
    """
    return f"part-{index:05}-lines-from-{before + 1}.jsonl.zst"


def lines_before(path: str) -> int:
    """The lines of standard input before a file; 0 if it is no part of that."""
    match = _NAME.fullmatch(path.rpartition("/")[2])
    return int(match[1]) - 1 if match else 0


def called(path: str) -> str:
    """A file's name, or standard input with where a part of it lies."""
    is_part = _NAME.fullmatch(path.rpartition("/")[2])
    return f"standard input (kept in {path})" if is_part else path
