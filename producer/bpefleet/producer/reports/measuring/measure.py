"""Measures a tokenizer on a sample: bytes per token, as the vocabulary grows and by source."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from bpefleet.shared.measuring.measure import Meter
from bpefleet.shared.measuring.measure import measure as measured
from bpefleet.shared.tokenizer.encoding import TextEncoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.producer.reports.measuring.sample import Source
    from bpefleet.shared.measuring.candidates import Candidate
    from bpefleet.shared.tokenizer import Tokenizer

_CURVE_BYTES: Final = 1_000_000
_FIRST: Final = 512


@dataclass(frozen=True, slots=True)
class SourceRate:
    """What a tokenizer makes of a source's sample: bytes, and the tokens they become."""

    name: str
    bytes: int
    sampled: int
    tokens: int

    @property
    def bytes_per_token(self) -> float:
        """Of the sample; 0 if there is none."""
        return self.sampled / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A tokenizer on a sample.

    Attributes:
        name: The tokenizer's.
        size: Tokens of its vocabulary.
        sources: By source.
        used: Different ids in the sample.
    """

    name: str
    size: int
    sources: tuple[SourceRate, ...]
    used: int

    @property
    def tokens(self) -> int:
        """Of the whole sample."""
        return sum(source.tokens for source in self.sources)

    @property
    def bytes_per_token(self) -> float:
        """Of the whole corpus: each source by its size, not by that of its sample."""
        known = [source for source in self.sources if source.tokens]
        tokens = sum(source.bytes / source.bytes_per_token for source in known)
        return sum(source.bytes for source in known) / tokens if tokens else 0.0


def measure(candidate: Candidate, sources: Sequence[Source]) -> Measured:
    """Encode the sample."""
    meter, used, rates = Meter(candidate), set[int](), []
    for source in sources:
        (found,) = measured([meter], source.texts)
        used |= found.ids.keys()
        size, tokens = found.sum_of("bytes"), found.sum_of("tokens")
        rates.append(SourceRate(source.name, source.bytes, size, tokens))
    return Measured(candidate.name, candidate.size, tuple(rates), len(used))


def curve(tokenizer: Tokenizer, sources: Sequence[Source]) -> list[tuple[int, float]]:
    """Bytes per token as the vocabulary grows: its size (without special tokens), and the figure.

    The first merges alone are the tokenizer of that size: training is greedy. Sizes double from
    512; the last is the whole. Measured on up to a megabyte of the sample.
    """
    texts = _part(sources)
    size = sum(len(text.encode()) for text in texts)
    whole = len(tokenizer.ranks)
    sizes = []
    step = _FIRST
    while step < whole:
        sizes.append(step)
        step *= 2
    found = []
    for count in [*sizes, whole]:
        ranks = dict(islice(tokenizer.ranks.items(), count))
        encoder = TextEncoder(ranks, tokenizer.pattern)
        tokens = sum(map(encoder.count, texts))
        found.append((count, size / tokens if tokens else 0.0))
    return found


def _part(sources: Sequence[Source]) -> list[str]:
    """Every n-th text, from all sources, such that they are about a megabyte."""
    texts = [text for source in sources for text in source.texts]
    every = max(1, round(sum(source.sampled for source in sources) / _CURVE_BYTES))
    return texts[::every]
