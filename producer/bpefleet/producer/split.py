"""Splits the corpus into chunks: byte ranges that can be counted apart.

Small files are packed together, large ones cut at the first safe place at or after each multiple
of the chunk size (see `shared.boundaries`). Only the neighbourhood of each cut is read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import SourceError
from bpefleet.shared.messages import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.producer.sources import SourceFile
    from bpefleet.shared.boundaries import Boundaries

_WINDOW: Final = 64 * 1024
_MAX_WINDOW: Final = 16 * 1024 * 1024
_EVEN_ROUNDS: Final = 8
"""Chunks a worker beyond which an odd one out no longer matters."""
MAX_SEGMENTS: Final = 4096
"""Segments in one chunk at the most, which bounds the size of its job."""


def split(
    files: Iterable[SourceFile],
    boundaries: Boundaries,
    chunk_size: int,
    warn: Callable[[str], None],
) -> Iterator[tuple[Segment, ...]]:
    """Yield chunks of about `chunk_size` bytes that together are all the files, in order.

    A range that holds no safe cut stays whole, however long; `warn` is told how many are longer
    than a chunk by more than a quarter, and which is the longest.

    Raises:
        SourceError: A file cannot be read.
    """
    packed: list[Segment] = []
    size = 0
    uncut: list[Segment] = []
    for file in files:
        for segment in _segments(file, boundaries, chunk_size):
            length = segment.end - segment.start
            if packed and (size + length > chunk_size or len(packed) == MAX_SEGMENTS):
                yield tuple(packed)
                packed, size = [], 0
            packed.append(segment)
            size += length
            if 4 * length > 5 * chunk_size:
                uncut.append(segment)
    if packed:
        yield tuple(packed)
    if uncut:
        warn(_long(uncut, chunk_size))


def even_chunk_size(total: int, chunk_size: int, workers: int) -> int:
    """The chunk size, at most `chunk_size`, at which so many workers end at the same time.

    With a few chunks a worker, an odd one out would leave all the others idle: three chunks take
    two workers as long as four.
    """
    rounds = -(-total // (chunk_size * max(1, workers)))
    if not 0 < rounds <= _EVEN_ROUNDS:
        return chunk_size
    return max(1, -(-total // (rounds * max(1, workers))))


def _long(uncut: list[Segment], chunk_size: int) -> str:
    longest = max(uncut, key=lambda segment: segment.end - segment.start)
    many = f"{len(uncut)} stretches of text hold" if len(uncut) > 1 else "a stretch of text holds"
    return (
        f"{many} no safe place to cut and stay whole, longer than a chunk of {chunk_size:,} bytes; "
        f"the longest: {longest.path}, {longest.end - longest.start:,} bytes from byte "
        f"{longest.start:,} on"
    )


def _segments(file: SourceFile, boundaries: Boundaries, chunk_size: int) -> Iterator[Segment]:
    # Parts of equal length: what were left over after full chunks would be a job for a few bytes.
    parts = -(-10 * file.size // (11 * chunk_size))
    if parts <= 1:
        yield Segment(file.path, 0, file.size)
        return
    step = -(-file.size // parts)
    try:
        descriptor = os.open(file.path, os.O_RDONLY)
    except OSError as error:
        raise SourceError(f"{file.path}: {error.strerror}") from error
    try:
        start = 0
        while start < file.size:
            end = _next_cut(descriptor, boundaries, start + step, file.size)
            yield Segment(file.path, start, end)
            start = end
    except OSError as error:
        raise SourceError(f"{file.path}: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _next_cut(descriptor: int, boundaries: Boundaries, target: int, size: int) -> int:
    """The first safe cut at or after `target`, else the end of the file."""
    reach = boundaries.reach
    window = _WINDOW
    while target < size:
        base = max(0, target - reach)
        data = _read(descriptor, base, target + window + reach - base)
        first = next(boundaries.cuts(data, target - base, target - base + window), None)
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
