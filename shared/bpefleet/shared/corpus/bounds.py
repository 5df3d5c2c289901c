"""How much a part of the corpus can hold, as far as that is known without reading it."""

from __future__ import annotations

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
    from bpefleet.shared.wire.messages import CountSpec, Segment

_ANY: Final = MOST_TEXT
"""A table's dictionary may hold a text once and mean it often."""


def can_hold(spec: CountSpec, text: int, records: int) -> bool:
    """Whether counting a chunk may have met so many bytes of text, in so many records."""
    each = zip(*map(_bounds, spec.segments), strict=True)
    least, most, fewest, many = map(sum, each)
    if spec.sample is not None:
        least = fewest = 0
    return least <= text <= most and fewest <= records <= many


def _bounds(segment: Segment) -> tuple[int, int, int, int]:
    """The least and the most bytes of text in a segment, and the fewest and the most records."""
    size = segment.end - segment.start
    if segment.format == TEXT:
        return size, size, 0, 0
    if kind_of(segment.format) in (COUNTS, COUNTS_TABLE):
        return 0, MOST_TEXT, 0, 0
    if segment.format in TABLES:
        return 0, _ANY, size, size
    size = max(size, segment.until - segment.start)
    # No text in JSON is longer than it is written, and no record takes less than a byte.
    most = MOST_FREE + MOST_PER_BYTE * size if compression_of(segment.format) else size
    return 0, most, 0, most if kind_of(segment.format) == JSON_LINES else 0
