"""The reference trainer: byte-level BPE in a screenful, slow and plain, to compare others with.

Nothing here is shared with the product. The definition that it spells out:

1. The text is cut at the special tokens (the longest first where several match); each piece
   between them is pre-tokenised alone, so that neither a token nor a lookahead crosses a cut.
2. Equal pre-tokens are counted once, as a sequence of bytes.
3. As long as tokens are wanted: the pair of neighbours with the greatest count is merged,
   everywhere and from left to right. Among pairs of equal count the tie rule decides.
4. It ends early when no pair is left, or the best count is below the minimum frequency.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# The bytes in the order of the characters that stand for them in GPT-2's vocabulary: those with a
# printable character of their own keep it, the others take U+0100 onwards and so come last.
_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_GPT2_RANK = {
    byte: rank
    for rank, byte in enumerate(
        _PRINTABLE + [byte for byte in range(256) if byte not in _PRINTABLE]
    )
}

Merge = tuple[bytes, bytes]
Word = tuple[int, ...]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Step:
    """One merge: the pair, how often it occurred, and how many pairs occurred as often."""

    merge: Merge
    count: int
    contenders: int


def pieces(text: str, specials: Sequence[str], *, keep: bool = False) -> list[str]:
    """The text between the special tokens, at each place the longest that matches.

    To keep them is to have each special token between its neighbours.
    """
    if not specials:
        return [text]
    longest_first = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    return re.split(f"({longest_first})" if keep else longest_first, text)


def pretokens(piece: str, splits: Sequence[str]) -> list[str]:
    """Pre-tokens of a piece: a single regex's matches, or several splits, each isolating its own.

    To isolate is to keep what lies between the matches too; the next split cuts that further.
    """
    if len(splits) == 1:
        return [match.group() for match in regex.finditer(splits[0], piece) if match.group()]
    parts = [piece]
    for split in splits:
        parts = [part for whole in parts for part in _isolate(whole, split)]
    return parts


def _isolate(whole: str, split: str) -> Iterator[str]:
    end = 0
    for match in regex.finditer(split, whole):
        yield from filter(None, (whole[end : match.start()], match.group()))
        end = match.end()
    yield from filter(None, (whole[end:],))


def count(text: str, splits: Sequence[str], specials: Sequence[str]) -> Counter[bytes]:
    """How often each pre-token of the text occurs, in the order of first occurrence."""
    return Counter(
        token.encode() for piece in pieces(text, specials) for token in pretokens(piece, splits)
    )


def count_bytes(data: bytes, splits: Sequence[str], specials: Sequence[str]) -> Counter[bytes]:
    """The same of bytes that are not all UTF-8: U+FFFD is put in after the special tokens are cut.

    Latin-1 has a character for every byte, so that they are found in the bytes as they stand.
    """
    found: Counter[bytes] = Counter()
    for piece in pieces(data.decode("latin-1"), [s.encode().decode("latin-1") for s in specials]):
        text = piece.encode("latin-1").decode("utf-8", "replace")
        found += Counter(token.encode() for token in pretokens(text, splits))
    return found


def steps(
    counts: Mapping[bytes, int],
    tie_break: str,
    *,
    min_frequency: int = 0,
    max_token_length: int | None = None,
) -> Iterator[Step]:
    """Merge until nothing is left to merge; take as many steps as tokens are wanted.

    Args:
        counts: Pre-tokens; their order matters to the `first-seen` rule only.
        tie_break: `lexmax`, `lexmin`, `rawid`, `hf` or `first-seen`.
        min_frequency: Pairs that occur less often are not merged.
        max_token_length: Pairs that would make a longer token, in bytes, are not merged.
    """
    vocab = [bytes([byte]) for byte in range(256)]
    words = [tuple(token) for token in counts]
    times = list(counts.values())
    occurs: Counter[Pair] = Counter()
    homes: dict[Pair, set[int]] = {}  # a pair's words, and maybe some that it has left

    def tally(index: int, sign: int) -> None:
        for pair in pairwise(words[index]):
            occurs[pair] += sign * times[index]
            homes.setdefault(pair, set()).add(index)

    def allowed() -> Mapping[Pair, int]:
        if max_token_length is None:
            return occurs
        length = list(map(len, vocab))
        return {p: n for p, n in occurs.items() if length[p[0]] + length[p[1]] <= max_token_length}

    for index in range(len(words)):
        tally(index, +1)
    while True:
        candidates = allowed()
        best = max(candidates.values(), default=0)
        if best < max(1, min_frequency):
            return
        tied = [pair for pair, seen in candidates.items() if seen == best]
        left, right = chosen = _first(tied, tie_break, vocab, words, homes)
        yield Step((vocab[left], vocab[right]), best, len(tied))
        vocab.append(vocab[left] + vocab[right])
        for index in list(homes[chosen]):
            tally(index, -1)
            words[index] = _merged(words[index], chosen, len(vocab) - 1)
            tally(index, +1)
        del occurs[chosen]


def merges(
    counts: Mapping[bytes, int],
    tie_break: str,
    wanted: int,
    *,
    min_frequency: int = 0,
    max_token_length: int | None = None,
) -> list[Merge]:
    """The first so many merges, or as many as there are."""
    found = steps(counts, tie_break, min_frequency=min_frequency, max_token_length=max_token_length)
    return [step.merge for step in islice(found, wanted)]


def _first(
    tied: Sequence[Pair],
    tie_break: str,
    vocab: Sequence[bytes],
    words: Sequence[Word],
    homes: Mapping[Pair, set[int]],
) -> Pair:
    """The pair that the tie rule prefers."""

    def spelled(pair: Pair) -> Merge:
        return vocab[pair[0]], vocab[pair[1]]

    def ranked(pair: Pair) -> tuple[int, ...]:
        return tuple(_GPT2_RANK.get(token, token) for token in pair)

    def place(pair: Pair) -> tuple[int, int]:
        index = min(index for index in homes[pair] if pair in pairwise(words[index]))
        return index, list(pairwise(words[index])).index(pair)

    match tie_break:
        case "lexmax":
            return max(tied, key=spelled)
        case "lexmin":
            return min(tied, key=spelled)
        case "rawid":
            return min(tied)
        case "hf":
            return min(tied, key=ranked)
        case "first-seen":
            return min(tied, key=place)
    message = f"no such tie rule: {tie_break}"
    raise ValueError(message)


def _merged(word: Word, pair: Pair, token: int) -> Word:
    """The word with each occurrence of the pair, from left to right, made one token."""
    out: list[int] = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] = token
        else:
            out.append(symbol)
    return tuple(out)


class Encoder:
    """Encodes as training merged: each pre-token on its own, the earliest merge first.

    Ids are bytes by value, then the merges in order, then the special tokens.
    """

    def __init__(
        self, splits: Sequence[str], merges: Sequence[Merge], specials: Sequence[str]
    ) -> None:
        self._splits, self._specials = splits, specials
        self._token = {bytes([byte]): byte for byte in range(256)}
        self._merged: dict[Pair, int] = {}
        for token, (left, right) in enumerate(merges, start=256):
            self._merged[self._token[left], self._token[right]] = token
            self._token[left + right] = token
        self._special = {s: 256 + len(merges) + index for index, s in enumerate(specials)}
        self._known: dict[bytes, Word] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        ids: list[int] = []
        for piece in pieces(text, self._specials, keep=True):
            if piece in self._special:
                ids.append(self._special[piece])
            else:
                found = pretokens(piece, self._splits)
                ids += chain.from_iterable(self.ids(pretoken.encode()) for pretoken in found)
        return ids

    def ids(self, pretoken: bytes) -> Word:
        """The ids of a pre-token."""
        if pretoken not in self._known:
            word = tuple(pretoken)
            while found := self._merged.keys() & set(pairwise(word)):
                first = min(found, key=self._merged.__getitem__)
                word = _merged(word, first, self._merged[first])
            self._known[pretoken] = word
        return self._known[pretoken]
