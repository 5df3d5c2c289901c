"""Splits the corpus into chunks: byte ranges that can be counted apart.

The files are one stretch of bytes, and chunks equal parts of it, so that workers end together. A
chunk ends at the first cut at or after its part's end (see `bpefleet.kernel.Cutter`), or at a
file's end that is near. Only the neighbourhood of each cut is read.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.opening import opened
from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.wire.messages import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.kernel import Cutter
    from bpefleet.producer.planning.sources import SourceFile

logger = logging.getLogger(__name__)

_WINDOW: Final = 64 * 1024
_MAX_WINDOW: Final = 16 * 1024 * 1024
_NEAR: Final = 16
"""Of a chunk, the part by which it may be shorter or longer rather than cut a file near its end."""
_EVEN_ROUNDS: Final = 8
"""Chunks a worker beyond which an odd one out no longer matters."""
MAX_CHUNKS: Final = 100_000
"""Chunks that a chunk size of one's own may make. Each is a job of some 22 ms, a line of the
history and some bytes of the plan, which is read whole.
"""
MAX_SEGMENTS: Final = 4096
"""Segments in one chunk at the most, which bounds the size of its job."""


def split(
    files: Iterable[SourceFile], cutter: Cutter, chunk_size: int
) -> Iterator[tuple[Segment, ...]]:
    """Yield chunks of about `chunk_size` bytes that together are all the files, in order.

    A range that holds no cut stays whole, however long. A warning says how many are longer
    than a chunk by more than a quarter, and which is the longest.

    Raises:
        SourceError: A file cannot be read.
    """
    files = list(files)
    total = sum(file.size for file in files)
    step = _step(total, chunk_size)
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


def demand_few(total: int, chunk_size: int) -> None:
    """Refuse a chunk size that would make jobs without end of a corpus of `total` bytes.

    Raises:
        UsageError: It would; the text says which size would not.
    """
    if (count := total // chunk_size) > MAX_CHUNKS:
        least = -(-total // (1000 * MAX_CHUNKS))
        raise UsageError(
            f"chunks of {chunk_size:,} bytes would be {count:,} jobs",
            hint=f"leave out --chunk-size, or make it {least}kB or more: "
            f"{MAX_CHUNKS:,} jobs at the most",
        )


def _step(total: int, chunk_size: int) -> int:
    """The size of equal parts of `total` bytes, near `chunk_size`.

    A rest of up to a tenth of a chunk makes the parts a little larger, and no part of its own.
    """
    parts = (total + chunk_size - chunk_size // 10 - 1) // chunk_size
    return -(-total // max(1, parts))


def even_chunk_size(total: int, chunk_size: int, workers: int, *, least: int = 1) -> int:
    """The chunk size, at most `chunk_size`, at which so many workers end at the same time.

    With a few chunks a worker, an odd one out would leave all the others idle: three chunks take
    two workers as long as four.

    Args:
        total: Bytes of the corpus.
        chunk_size: What is asked for, bytes.
        workers: How many share the corpus.
        least: Bytes of a chunk that is worth a job; with more workers, some get none.
    """
    rounds = -(-total // (chunk_size * max(1, workers)))
    if not 0 < rounds <= _EVEN_ROUNDS:
        return chunk_size
    return max(min(least, chunk_size), -(-total // (rounds * max(1, workers))))


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
