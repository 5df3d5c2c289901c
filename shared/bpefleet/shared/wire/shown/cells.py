"""The map of a run's chunks: cells in order, each with how many of its chunks are in which state.

Up to `MOST` chunks have a cell each. Of more, as many as need be share one, so that the map of a
run of a million chunks takes no more than some tens of kB. It is written as text, `c50*12 c48r2
w50*7`: twelve cells of fifty counted chunks each, one with two that are running, and so on.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STATES: Final = {"counted": "c", "running": "r", "queued": "q", "waiting": "w", "failed": "f"}
"""The letters of states."""
MOST: Final = 2000
"""Cells of a map at the most."""
_CELL: Final = re.compile(r"((?:[crqwf][1-9][0-9]{0,15})+)(?:\*([1-9][0-9]{0,3}))?")
_PART: Final = re.compile(r"([crqwf])([0-9]+)")
_LONGEST: Final = 100 * MOST

Cell = dict[str, int]
"""How many chunks of a cell have a state, by its letter."""


def cells_of(letters: bytes | bytearray) -> list[Cell]:
    """The cells of chunks, given as the letter of each one's state."""
    span = -(-len(letters) // MOST) or 1
    cells = []
    for at in range(0, len(letters), span):
        part = letters[at : at + span]
        counts = {letter: part.count(letter.encode()) for letter in STATES.values()}
        cells.append({letter: count for letter, count in counts.items() if count})
    return cells


def pack(cells: Iterable[Cell]) -> str:
    """Cells as text."""
    each = ("".join(f"{letter}{count}" for letter, count in cell.items()) for cell in cells)
    return " ".join(
        text if (times := sum(1 for _ in alike)) == 1 else f"{text}*{times}"
        for text, alike in groupby(each)
    )


def unpack(text: str) -> list[Cell]:
    """The cells of a text.

    Raises:
        MessageError: It is no map, or one of more cells than there may be.
    """
    cells: list[Cell] = []
    for part in text.split(" ") if text and len(text) <= _LONGEST else ():
        match = _CELL.fullmatch(part)
        if match is None:
            raise MessageError("Detail.map: no cell")
        found = _PART.findall(match[1])
        cell = {letter: int(count) for letter, count in found}
        if len(cell) != len(found):
            raise MessageError("Detail.map: a state that comes twice in a cell")
        cells += [cell] * int(match[2] or 1)
        if len(cells) > MOST:
            break
    if len(cells) > MOST or len(text) > _LONGEST:
        raise MessageError("Detail.map: too many cells")
    return cells


def changed(cells: Iterable[Cell], change: Callable[[str], str]) -> list[Cell]:
    """Cells whose chunks have other states, each by the letter of the one it had."""
    result = []
    for cell in cells:
        counts: Cell = {}
        for letter, count in cell.items():
            counts[change(letter)] = counts.get(change(letter), 0) + count
        result.append({letter: counts[letter] for letter in STATES.values() if letter in counts})
    return result
