"""Whether the files and the chunks of a plan that was read hang together."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from bpefleet.producer.planning.columns.corpus import totals_of
from bpefleet.shared.corpus.formats import KNOWN
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.producer.planning.columns.chunks import Chunks
    from bpefleet.producer.planning.columns.corpus import Totals
    from bpefleet.producer.planning.columns.files import Files
    from bpefleet.producer.planning.mixture.source import PlannedSource


def check_corpus(
    files: Files,
    chunks: Chunks,
    sources: Sequence[PlannedSource],
    said: Totals | None = None,
) -> None:
    """Check a corpus that was read.

    Args:
        files: Its files.
        chunks: Its chunks.
        sources: The plan's.
        said: What the plan says of it, if it was read.

    Raises:
        MessageError: It does not hang together.
    """
    if files.has_nul:
        raise MessageError("Plan.files: a name that no file has")
    if not {*files.formats} <= {*KNOWN}:
        raise MessageError("Plan.files: a format that is not read")
    if any(source >= len(sources) for source, _ in files.texts()):
        raise MessageError("Plan.files: a source that there is none of")
    if files.is_divided_sample:
        raise MessageError("Plan.files: a part of a compressed file that is sampled")
    if not chunks.hang_together():
        raise MessageError("Plan.chunks: a chunk is empty or lies outside the files")
    borders = files.source_borders
    for chunk, (last, place) in enumerate(chunks.ends):
        if borders and _crossed(borders, chunks.begin(chunk)[0], last):
            raise MessageError("Plan.chunks: a chunk of two sources")
        if files.is_compressed(last) and not files[last].may_be_cut_at(place):
            raise MessageError("Plan.chunks: a part of a compressed file amid a frame")
    if said is not None and totals_of(files, chunks, sources) != said:
        raise MessageError("Plan.totals: they are not those of the files and the chunks")


def _crossed(borders: Sequence[int], first: int, last: int) -> bool:
    return bisect_right(borders, first) != bisect_right(borders, last)
