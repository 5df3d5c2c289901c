"""Ranks of a list of merges; and merges of ranks that came without, as in tiktoken's files."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def ranks_of(vocab: Mapping[int, bytes], merges: Sequence[tuple[bytes, bytes]]) -> dict[bytes, int]:
    """Token to id, of the bytes and of what merging makes.

    Raises:
        ValueError: A merge's result is not in the vocabulary, or ids do not rise with the merges.
    """
    numbers = {token: number for number, token in vocab.items()}
    try:
        ranks = {token: numbers[token] for token in (bytes([byte]) for byte in range(256))}
        last = max(ranks.values())
        for left, right in merges:
            number = numbers[left + right]
            if number <= last:
                raise ValueError(f"the id {number} of {left + right!r} is out of the merges' order")
            ranks[left + right] = last = number
    except KeyError as error:
        raise ValueError(f"the vocabulary lacks {error}") from None
    return ranks


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
