"""How well a tokenizer compresses, alone and beside others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table
from bpefleet.producer.reports.sections.words import in_mb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.producer.reports.document import Part
    from bpefleet.producer.reports.measuring.measure import Measured


def compression(
    ours: Measured, curve: Sequence[tuple[int, float]], vocabulary: int, *, held_out: bool
) -> Iterator[Part]:
    """Bytes per token: of the whole vocabulary, as it grows, and by source.

    Args:
        ours: The tokenizer on the sample.
        curve: Bytes per token by size of the vocabulary.
        vocabulary: Its tokens, without special ones.
        held_out: Whether the sample is of text that it was not trained on.
    """
    yield Heading("Compression")
    sampled = sum(source.sampled for source in ours.sources)
    part = (
        "text that it was not trained on"
        if held_out
        else "a part of the text that it was trained on: other text may compress less"
    )
    unused = 1 - ours.used / vocabulary
    yield Paragraph(
        f"{ours.bytes_per_token:.3f} bytes per token, measured on {in_mb(sampled)}, {part}. "
        f"{100 * unused:.1f} % of the vocabulary does not occur in it; in more text less would be "
        "unused."
    )
    yield Chart(
        "Bytes per token as the vocabulary grows",
        "line",
        values=tuple(value for _, value in curve),
        unit="bytes per token",
        x="tokens",
        positions=tuple(size for size, _ in curve),
        log=True,
    )
    yield Table(
        "Bytes per token of the first tokens alone, on up to a megabyte of the sample",
        ("tokens", "bytes per token"),
        tuple((f"{size:,}", f"{value:.3f}") for size, value in curve),
        frozenset({0, 1}),
    )
    yield Table(
        "By source",
        ("source", "text", "sampled", "bytes per token"),
        tuple(
            (
                s.name,
                in_mb(s.bytes),
                in_mb(s.sampled),
                f"{s.bytes_per_token:.3f}" if s.tokens else "",
            )
            for s in ours.sources
        ),
        frozenset({1, 2, 3}),
    )


def comparison(
    measured: Sequence[Measured], uncompared: Sequence[tuple[str, str]]
) -> Iterator[Part]:
    """The tokenizer beside others.

    Args:
        measured: It, and then the others, on the same sample.
        uncompared: What could not be compared, each with the reason.
    """
    ours = measured[0]
    if len(measured) == 1 and not uncompared:
        return
    yield Heading("Comparison")
    for name, reason in uncompared:
        yield Paragraph(f"{name} is not compared: {reason}")
    if len(measured) == 1:
        return
    yield Table(
        "Tokenizers on the same sample; more bytes per token are fewer tokens",
        ("tokenizer", "vocabulary", "bytes per token", "tokens against ours"),
        tuple(
            (
                one.name,
                f"{one.size:,}",
                f"{one.bytes_per_token:.3f}",
                f"{100 * (ours.bytes_per_token / one.bytes_per_token - 1):+.1f} %"
                if one.bytes_per_token
                else "",
            )
            for one in measured
        ),
        frozenset({1, 2, 3}),
    )
