"""Which parts are put together next: a tree, as deep as it takes.

Parts of about one size are put together, so that each byte is read and written a number of times
that grows with the logarithm of how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.store.ledgers.exchanged import Held, Parts

MOST: Final = 32
"""Parts of a sum."""
BYTES: Final = 256 << 20
"""Bytes that parts of a sum have together, about: a worker holds them all, and the sum. A part of
half as many is put together with no others.
"""
LEAST: Final = 8
"""Parts that are left at the end and still worth a job; fewer are brought in one by one."""


def sums(parts: Parts, *, last: bool, alone: Iterable[int] = ()) -> list[tuple[int, ...]]:
    """The ids of parts to be put together, for each sum that is due.

    Args:
        parts: What lies in the exchange.
        last: Whether all chunks are counted.
        alone: The ids of parts to leave as they are.
    """
    left_alone = set(alone)
    groups: dict[tuple[int, int], list[Held]] = {}
    sources: dict[int, list[Held]] = {}
    for each in parts.free():
        if each.part.size < BYTES // 2 and each.id not in left_alone:
            source = parts.source_of(each)
            groups.setdefault((source, each.level), []).append(each)
            sources.setdefault(source, []).append(each)
    found = [group for each in groups.values() for group in _full(each)]
    if last and not found and not parts.open:
        for left in sources.values():
            if len(left) >= LEAST:
                found += [group for group in _cut(left) if len(group) > 1]
    return [tuple(each.id for each in group) for group in found]


def _full(parts: list[Held]) -> Iterator[list[Held]]:
    """The groups that are as large as they get."""
    for group in _cut(parts):
        if len(group) > 1 and _is_full(group):
            yield group


def _cut(parts: list[Held]) -> Iterator[list[Held]]:
    group: list[Held] = []
    for each in parts:
        group.append(each)
        if _is_full(group):
            yield group
            group = []
    if group:
        yield group


def _is_full(group: list[Held]) -> bool:
    return len(group) >= MOST or sum(each.part.size for each in group) >= BYTES
