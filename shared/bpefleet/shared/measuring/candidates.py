"""Tokenizers to be measured on the same text: ours, and any that the person names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from bpefleet.shared.process.machine import cores
from bpefleet.shared.tokenizer import Tokenizer


class Encoded(NamedTuple):
    """What a tokenizer makes of texts.

    Attributes:
        ids: All ids, 32 bits each.
        ends: For each text how many ids there are up to its end, 64 bits each.
        places: Where in the texts' joined UTF-8 each token ends; None if its bytes tell.
        same: For each text whether it comes back when its ids are decoded; likewise.
    """

    ids: array[int] | memoryview
    ends: array[int] | memoryview
    places: array[int] | None = None
    same: list[bool] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tokenizer, whatever its kind.

    Attributes:
        name: What people know it by.
        size: Tokens of its vocabulary, special ones included.
        tokens: Id to bytes, without special tokens; None if tokens are no bytes of the text.
        encode: From texts, in which nothing is special, and their UTF-8, joined, with offsets, to
            ids.
    """

    name: str
    size: int
    tokens: Mapping[int, bytes] | None
    encode: Callable[[Sequence[str], bytes, array[int]], Encoded]

    @property
    def ordinary(self) -> int:
        """Tokens that a text may become: all but the special ones, where they are known."""
        return self.size if self.tokens is None else len(self.tokens)


def candidate_of(tokenizer: Tokenizer, name: str, threads: int = 0) -> Candidate:
    """A tokenizer by its name, to encode with so many threads; with all cores if it is 0."""
    size = len(tokenizer.vocab)
    if not tokenizer.ranks:
        return Candidate(name, size, None, lambda texts, _data, _at: _located(tokenizer, texts))
    tokens = {number: token for token, number in tokenizer.ranks.items()}
    number = threads or cores()

    def encode(_texts: Sequence[str], data: bytes, offsets: array[int]) -> Encoded:
        found = tokenizer.encode_documents(data, offsets, threads=number, allowed_special=())
        return Encoded(found.ids, found.ends)

    return Candidate(name, size, tokens, encode)


def find_candidate(named: str) -> Candidate:
    """A tokenizer by its name: whatever `Tokenizer.load` takes.

    Raises:
        OutputError: There is no such tokenizer, or it is damaged.
        SourceError: tiktoken cannot fetch it.
        UsageError: An extra is missing; or it is a file of tiktoken's, which has no split rule.
    """
    return candidate_of(Tokenizer.load(named), named)


def joined(texts: Sequence[str]) -> tuple[bytes, array[int]]:
    """Texts in UTF-8, one behind the other, and where each begins; at last, where all end."""
    each = [text.encode() for text in texts]
    return b"".join(each), array("q", accumulate(map(len, each), initial=0))


def _located(tokenizer: Tokenizer, texts: Sequence[str]) -> Encoded:
    """By where the tokens come from, as their bytes do not tell."""
    ids, ends, places, same, at = array("I"), array("Q"), array("Q"), [], 0
    for text in texts:
        found = tokenizer.encode_with_offsets(text, allowed_special=())
        ids.extend(found.ids)
        ends.append(len(ids))
        places.extend(sorted(at + end for _, end in found.bytes))
        same.append(tokenizer.decode(found.ids) == text)
        at += len(text.encode())
    return Encoded(ids, ends, places, same)
