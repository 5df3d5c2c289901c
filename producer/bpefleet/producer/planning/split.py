"""Splits the corpus into chunks: byte ranges that can be counted apart.

The files, one after the other, are taken for one stretch of bytes, which is divided into equal
parts, so that the workers end at the same time. A part's end is moved to the next cut (see
`bpefleet.kernel.Cutter`), or to the end of a file that is near. Files are read around those places
only.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.opening import opened
from bpefleet.producer.planning.chunk_size import equal_part
from bpefleet.shared.errors import SourceError
from bpefleet.shared.wire.messages import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.kernel import Cutter
    from bpefleet.producer.planning.sources import SourceFile

logger = logging.getLogger(__name__)

_WINDOW: Final = 64 * 1024
"""Bytes in which a cut is looked for first; twice as many each time that there is none."""
_MAX_WINDOW: Final = 16 * 1024 * 1024
"""Bytes that are looked through at once at the most."""
_NEAR: Final = 16
"""A chunk may be longer or shorter by one part in so many, if it then ends where a file does."""
MAX_SEGMENTS: Final = 4096
"""Segments of a chunk at the most. A job names all of its chunk's, so this bounds its size."""


def split(
    files: Iterable[SourceFile], cutter: Cutter, chunk_size: int
) -> Iterator[tuple[Segment, ...]]:
    """Yield the segments of each chunk; together they are all the files, in order.

    Text without a cut stays whole, however long. A warning tells of segments that are longer
    than a chunk by more than a quarter: how many, and which is the longest.

    Args:
        files: The corpus.
        cutter: Finds the cuts of the run's split rule and special tokens.
        chunk_size: Bytes of a chunk, about.

    Raises:
        SourceError: A file cannot be read.
    """
    files = list(files)
    total = sum(file.size for file in files)
    step = equal_part(total, chunk_size)
    near = step // _NEAR
    packed: list[Segment] = []
    uncut: list[Segment] = []
    done, goal = 0, step
    for file in files:
        at = 0
        while at < file.size:
            is_full = goal <= done + near and goal < total
            if packed and (is_full or len(packed) == MAX_SEGMENTS):
                yield tuple(packed)
                packed = []
            while goal <= done + near:
                goal += step
            end = file.size
            if done + end - at > goal + near:
                end = _next_cut(file, cutter, at + goal - done)
            packed.append(Segment(file.path, at, end))
            if 4 * (end - at) > 5 * chunk_size:
                uncut.append(packed[-1])
            done += end - at
            at = end
    if packed:
        yield tuple(packed)
    if uncut:
        logger.warning("%s", _long(uncut, chunk_size))


def _long(uncut: list[Segment], chunk_size: int) -> str:
    longest = max(uncut, key=lambda segment: segment.end - segment.start)
    many = f"{len(uncut)} stretches of text hold" if len(uncut) > 1 else "a stretch of text holds"
    return (
        f"{many} no safe place to cut and stay whole, longer than a chunk of {chunk_size:,} bytes; "
        f"the longest: {longest.path}, {longest.end - longest.start:,} bytes from byte "
        f"{longest.start:,} on"
    )


def _next_cut(file: SourceFile, cutter: Cutter, target: int) -> int:
    """The first cut at or after `target`, else the end of the file."""
    try:
        with opened(file.path) as descriptor:
            return _find_cut(descriptor, cutter, target, file.size)
    except OSError as error:
        raise SourceError(f"{file.path}: {error.strerror}") from error


def _find_cut(descriptor: int, cutter: Cutter, target: int, size: int) -> int:
    reach = cutter.reach
    window = _WINDOW
    while target < size:
        base = max(0, target - reach)
        data = _read(descriptor, base, target + window + reach - base)
        first = cutter.first(data, target - base, target - base + window)
        if first is not None:
            return min(size, base + first)
        target += window
        window = min(2 * window, _MAX_WINDOW)
    return size


def _read(descriptor: int, offset: int, length: int) -> bytes:
    parts = []
    while length > 0 and (part := os.pread(descriptor, length, offset)):
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)
