"""Counts of text that nobody wrote, by a law fitted to text that somebody did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.law import Law
from bpefleet.kernel import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGLISH: Final = Law(beta=0.68, scale=4.2)
"""Of `en_100MB` by cl100k, as `python -m benchmarks heaps --pattern cl100k` fits it."""
PRETOKENS: Final = 13_800_000
"""Those of 64 MB of it."""
SPEED: Final = 364e6
"""Bytes of it that a core counts in a second (record `count-30MB`)."""
_SYLLABLES: Final = tuple(
    (consonant + vowel).encode() for consonant in "tnshrdlcmwfgpbvk" for vowel in "eaoi"
)


def counts_of(pretokens: int, seed: int) -> Counts:
    """The counts of a stretch of text of so many pre-tokens; each seed's is another one's."""
    counts = Counts()
    drawn = ENGLISH.draw(pretokens, seed)
    counts.add_all((spell(rank), count) for rank, count in drawn.items())
    return counts


def spell(rank: int) -> bytes:
    """The word of a rank; frequent ones are shorter."""
    return b" " + b"".join(_digits(rank))


def _digits(rank: int) -> Iterator[bytes]:
    while rank:
        rank, digit = divmod(rank, len(_SYLLABLES))
        yield _SYLLABLES[digit]
