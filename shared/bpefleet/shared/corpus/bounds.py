"""How much a part of the corpus can hold, as far as that is known without reading it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.shared.corpus.compressed.decompress import MOST_FREE, MOST_PER_BYTE
from bpefleet.shared.corpus.formats import (
    COUNTS,
    COUNTS_TABLE,
    JSON_LINES,
    TABLES,
    TEXT,
    compression_of,
    kind_of,
)
from bpefleet.shared.corpus.tables.counted import MOST_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.wire.messages import Segment

_ANY: Final = MOST_TEXT
"""A table's dictionary may hold a text once and mean it often."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most that counting may have met.

    Attributes:
        text: Bytes of text.
        records: Records.
    """

    text: tuple[int, int]
    records: tuple[int, int]

    def hold(self, text: int, records: int) -> bool:
        """Whether so many bytes of text in so many records can be."""
        return (
            self.text[0] <= text <= self.text[1] and self.records[0] <= records <= self.records[1]
        )


def bounds(segments: Iterable[Segment], *, sampled: bool = False) -> Bounds:
    """What a chunk of these segments can hold, or a sample of it."""
    each = [_of(segment) for segment in segments]
    least = 0 if sampled else 1
    return Bounds(
        (least * sum(one.text[0] for one in each), sum(one.text[1] for one in each)),
        (least * sum(one.records[0] for one in each), sum(one.records[1] for one in each)),
    )


def _of(segment: Segment) -> Bounds:
    size = segment.end - segment.start
    if segment.format == TEXT:
        return Bounds((size, size), (0, 0))
    if kind_of(segment.format) in (COUNTS, COUNTS_TABLE):
        return Bounds((0, MOST_TEXT), (0, 0))
    if segment.format in TABLES:
        return Bounds((0, _ANY), (size, size))
    size = max(size, segment.until - segment.start)
    # No text in JSON is longer than it is written, and no record takes less than a byte.
    most = MOST_FREE + MOST_PER_BYTE * size if compression_of(segment.format) else size
    return Bounds((0, most), (0, most if kind_of(segment.format) == JSON_LINES else 0))
