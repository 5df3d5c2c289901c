"""Splits the corpus into chunks: parts of files that can be counted apart.

The files, one after the other, are taken for one stretch of text, which is divided into equal
parts, so that the workers end at the same time. A part's end is moved to the next place where the
file may be cut (see `places`), or to the end of a file that is near. Files are read around those
places only.
"""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.chunk_size import equal_part
from bpefleet.producer.planning.columns.files import Between
from bpefleet.producer.planning.places import Places
from bpefleet.shared.corpus.formats import TEXT, compression_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.kernel import Cutter
    from bpefleet.producer.planning.columns.files import Files
    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.shared.wire.messages import Segment

logger = logging.getLogger(__name__)

_NEAR: Final = 16
"""A chunk may be longer or shorter by one part in so many, if it then ends where a file does."""
SMALL_FILE: Final = 128 * 1024 * 1024
"""Bytes of text of a compressed file that nobody need divide: one core counts them in a second."""
MAX_SEGMENTS: Final = 4096
"""Segments of a chunk at the most. A job names all of its chunk's, so this bounds its size."""


def split_sources(
    files: Files, cutters: Sequence[Cutter], chunk_size: int
) -> Iterator[tuple[Segment, ...]]:
    """Split source by source, so that no chunk has text of two; as `split` does each.

    Args:
        files: The corpus, in the order of its sources.
        cutters: For each source.
        chunk_size: Bytes of text in a chunk, about.

    Raises:
        SourceError: A file cannot be read.
    """
    for first, end in pairwise([0, *files.source_borders, len(files)]):
        yield from split(files.between(first, end), cutters[files.sources[first]], chunk_size)


def split(
    files: Between | Sequence[SourceFile], cutter: Cutter, chunk_size: int
) -> Iterator[tuple[Segment, ...]]:
    """Yield the segments of each chunk; together they are all the files, in order.

    Text without a cut stays whole, however long, and so does a frame of a compressed file. Warnings
    tell of
    segments that are longer than a chunk by more than a quarter: how many, and which is the
    longest.

    Args:
        files: The corpus.
        cutter: Finds the cuts of the run's split rule and special tokens.
        chunk_size: Bytes of text in a chunk, about.

    Raises:
        SourceError: A file cannot be read.
    """
    total = files.text if isinstance(files, Between) else sum(file.text for file in files)
    step = max(1, equal_part(total, chunk_size))
    near = step // _NEAR
    packed: list[Segment] = []
    uncut: list[tuple[int, Segment]] = []
    before, done, goal = 0, 0, step
    with Places(cutter) as places:
        for file in files:
            at, extent = 0, file.extent
            while at < extent:
                is_full = goal <= done + near and goal < total
                if packed and (is_full or len(packed) == MAX_SEGMENTS):
                    yield tuple(packed)
                    packed = []
                while goal <= done + near:
                    goal += step
                end = extent
                if before + file.text > goal + near:
                    target = max(at + 1, file.place_of(goal - before))
                    end = places.next(file, at, target, near)
                packed.append(file.segment(at, end))
                text = before + file.text_to(end) - done
                least = max(chunk_size, SMALL_FILE) if compression_of(file.format) else chunk_size
                if 4 * text > 5 * least:
                    uncut.append((text, packed[-1]))
                done += text
                at = end
            before = done
    if packed:
        yield tuple(packed)
    _warn_of_long(uncut, chunk_size)


def _warn_of_long(uncut: list[tuple[int, Segment]], chunk_size: int) -> None:
    for compressed in (False, True):
        found = [each for each in uncut if bool(compression_of(each[1].format)) is compressed]
        if found:
            say = _long_files if compressed else _long_stretches
            logger.warning("%s", say(found, chunk_size))


def _long_stretches(uncut: list[tuple[int, Segment]], chunk_size: int) -> str:
    text, longest = max(uncut, key=lambda each: each[0])
    many = f"{len(uncut)} stretches of text hold" if len(uncut) > 1 else "a stretch of text holds"
    where = f"byte {longest.start:,} on" if longest.format == TEXT else f"{longest.start:,} on"
    return (
        f"{many} no safe place to cut and stay whole, longer than a chunk of {chunk_size:,} bytes; "
        f"the longest: {longest.path}, {text:,} bytes from {where}"
    )


def _long_files(uncut: list[tuple[int, Segment]], chunk_size: int) -> str:
    text, longest = max(uncut, key=lambda each: each[0])
    several = f"{len(uncut)} parts of compressed files are"
    many = several if len(uncut) > 1 else "a part of a compressed file is"
    return (
        f"{many} longer than a chunk of {chunk_size:,} bytes of text, and cannot be divided: one "
        f"worker counts it; the longest: {longest.path}, some {text:,} bytes of text. Several "
        "smaller files, frames as pzstd, xz -T0 and bgzip make them, or Parquet would be counted "
        "side by side"
    )
