"""Which counts are put together next: a tree, as deep as it takes.

Those that were put together equally often are put together, some dozens at a time, so that each
byte is read and written a number of times that grows with the logarithm of how many there are. Once
a sum is large, it is divided into ranges of hashes, and whatever is made of it is made range by
range: so the last sums, of which there are few, still have many workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.store.exchanged.parts import Planned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.store.exchanged.parts import Held, Parts

MOST: Final = 32
"""Counts that are put together at once."""
LEAST: Final = 8
"""Of large ones as many at least; and at the end, as many are worth a job that are of different
sizes. Fewer are brought in one by one.
"""
BYTES: Final = 256 << 20
"""Bytes for a job, about."""
LARGE: Final = 64 << 20
"""Bytes from which on a sum is divided."""
RANGES: Final = 16
"""Ranges of a large sum."""


def sums(parts: Parts, *, last: bool, alone: Iterable[int] = ()) -> list[Planned]:
    """The sums that are due.

    Args:
        parts: What lies in the exchange.
        last: Whether all chunks are counted.
        alone: The ids of what is to be left as it is.
    """
    left_alone = set(alone)
    levels: dict[tuple[int, int, int], list[Held]] = {}
    kinds: dict[tuple[int, int], list[Held]] = {}
    for each in parts.free():
        if each.id not in left_alone:
            kind = parts.source_of(each), len(each.parts)
            levels.setdefault((*kind, each.level), []).append(each)
            kinds.setdefault(kind, []).append(each)
    found = [group for level in levels.values() for group in _cut(level) if _is_full(group)]
    if last and not found and not parts.open:
        for left in kinds.values():
            if len(left) >= LEAST:
                found += [group for group in _cut(left) if len(group) > 1]
    planned: list[Planned] = []
    unit = len(parts.units)
    for group in found:
        planned.append(_planned(unit, group))
        unit += planned[-1].units
    return planned


def _planned(unit: int, group: list[Held]) -> Planned:
    units = len(group[0].parts)
    large = units == 1 and sum(each.size for each in group) >= LARGE
    return Planned(unit, tuple(each.id for each in group), units, RANGES if large else 1)


def _cut(level: list[Held]) -> Iterator[list[Held]]:
    group: list[Held] = []
    for each in level:
        group.append(each)
        if _is_full(group):
            yield group
            group = []
    if group:
        yield group


def _is_full(group: list[Held]) -> bool:
    if len(group) < min(LEAST, MOST):
        return False
    size = sum(each.size for each in group)
    return len(group) >= MOST or size >= BYTES * len(group[0].parts)
