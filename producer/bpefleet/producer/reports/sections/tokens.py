"""A tokenizer's tokens: by length, and the longest."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from bpefleet.producer.reports.document import Chart, Heading, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bpefleet.producer.reports.document import Part

_LONGEST: Final = 20
_SHOWN_CHARACTERS: Final = 80
_HISTOGRAM: Final = 20
"""Token lengths from here on share a bar."""
_REPEATED: Final = 8
"""Times that a character is shown; beyond that once, and how often it comes."""


def tokens(ranks: Mapping[bytes, int]) -> Iterator[Part]:
    """The tokens by length, and the longest.

    Args:
        ranks: The tokens, without special ones, and their ids.
    """
    yield Heading("Tokens")
    lengths = Counter(min(len(token), _HISTOGRAM) for token in ranks)
    labels = tuple(f"{n}+" if n == _HISTOGRAM else str(n) for n in range(1, max(lengths) + 1))
    values = tuple(lengths[n] for n in range(1, max(lengths) + 1))
    yield Chart(
        "Tokens by length in bytes",
        "bars",
        values=tuple(map(float, values)),
        unit="tokens",
        x="bytes",
        labels=labels,
    )
    yield Table(
        "Tokens by length in bytes",
        ("bytes", "tokens"),
        tuple((label, f"{value:,}") for label, value in zip(labels, values, strict=True)),
        frozenset({0, 1}),
    )
    longest = sorted(ranks.items(), key=lambda item: (-len(item[0]), item[1]))
    worded = [item for item in longest if any(map(str.isalpha, _decoded(item[0])))]
    yield _longest("Longest tokens; ␣ stands for a space", longest)
    yield _longest("Longest tokens with letters", worded)


def _longest(caption: str, tokens: Sequence[tuple[bytes, int]]) -> Table:
    rows = (
        (f"{len(token):,}", f"{number:,}", *_shown(token)) for token, number in tokens[:_LONGEST]
    )
    return Table(caption, ("bytes", "id", "text", "as bytes"), tuple(rows), frozenset({0, 1}))


def _decoded(token: bytes) -> str:
    return token.decode(errors="replace")


def _shown(token: bytes) -> tuple[str, str]:
    """A token as text and as bytes; a character many times over only once."""
    text = _decoded(token)
    times = len(text) if len(text) > _REPEATED else 1
    if (part := token[: len(token) // times]) * times != token:
        part, times = token, 1
    mark = f" × {times}" if times > 1 else ""
    spelled = repr(part).replace(" ", r"\x20")  # spaces in a row collapse in a page
    return _cut(_decoded(part).replace(" ", "␣")) + mark, _cut(spelled) + mark


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
