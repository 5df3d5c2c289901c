"""Escapes text for Markdown: GitHub shows it unchanged, and it can be read as it is."""

from __future__ import annotations

import re
from typing import Final

from bpefleet.shared.process.text import line

_MARKS: Final = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|$)           # what a backslash stands before, it would take for a mark
    | [`*\[|~$]                         # code, emphasis, links, cells, strikes, formulas
    | (?<![^\W_])_ | _(?![^\W_])        # emphasis; within a word it is a letter
    | (?<=www)(?=\.)                    # bare addresses; those of mail no spelling keeps from it
    | :(?=//)
    | (?<=\s)\#+$ | ^(?:[-+=]|\#{1,6})(?=\s|$) | ^-(?=-) | ^=(?==) # lists, headings, rules
    | ^\d+(?=[.)](?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What would act in GitHub's Markdown, each to follow a backslash; a list's number comes before it.
Nothing else has one: a report is read as it is, too."""

_ENTITIES: Final = {"<": "&lt;", ">": "&gt;"}
_ENTITY: Final = re.compile(r"&(?=#?\w+;)")


def escaped(text: str) -> str:
    """`text` of unknown origin as one line in which nothing acts."""
    safe = _MARKS.sub(_marked, line(text).strip())
    safe = _ENTITY.sub("&amp;", safe)
    for mark, entity in _ENTITIES.items():
        safe = safe.replace(mark, entity)
    return safe


def _marked(found: re.Match[str]) -> str:
    mark = found[0]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"
