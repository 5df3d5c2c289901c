"""The merges of a vocabulary that came without: of tiktoken's files."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def merges_of(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """For each token that merging makes, in order, the two that it was made of.

    These are what the tokens before it merge its bytes into.
    """
    merges = []
    for token, rank in sorted(ranks.items(), key=itemgetter(1)):
        parts = _parts(token, ranks, rank)
        if len(parts) == 2:  # noqa: PLR2004  a pair
            merges.append((parts[0], parts[1]))
    return merges


def _parts(token: bytes, ranks: Mapping[bytes, int], below: int) -> list[bytes]:
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 1:
        joined = [(ranks.get(parts[at] + parts[at + 1], below), at) for at in range(len(parts) - 1)]
        rank, at = min(joined)
        if rank >= below:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts
