"""Ranks of a list of merges."""

from __future__ import annotations

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
