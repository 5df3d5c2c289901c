"""How large chunks are: not too many, and as many for each worker."""

from __future__ import annotations

from typing import Final

from bpefleet.shared.errors import UsageError

MAX_CHUNKS: Final = 100_000
"""Chunks that a chunk size of one's own may make. Each is a job of some 22 ms, a line of the
history and some bytes of the plan, which is read whole.
"""
_EVEN_ROUNDS: Final = 8
"""Chunks a worker from which on it no longer matters that some worker has one more."""


def demand_few(total: int, chunk_size: int) -> None:
    """Refuse a chunk size by which a corpus of `total` bytes would be more than `MAX_CHUNKS` jobs.

    Raises:
        UsageError: It would; the text says which size would do.
    """
    if (count := total // chunk_size) > MAX_CHUNKS:
        least = -(-total // (1000 * MAX_CHUNKS))
        raise UsageError(
            f"chunks of {chunk_size:,} bytes would be {count:,} jobs",
            hint=f"leave out --chunk-size, or make it {least}kB or more: "
            f"{MAX_CHUNKS:,} jobs at the most",
        )


def even_chunk_size(total: int, chunk_size: int, workers: int, *, least: int = 1) -> int:
    """The chunk size, at most `chunk_size`, with which all workers end at the same time.

    Three chunks take two workers as long as four would: one of them has nothing to do in the end.
    So where there are only a few chunks a worker, each worker gets the same number of them.

    Args:
        total: Bytes of the corpus.
        chunk_size: Bytes of a chunk at the most.
        workers: How many share the corpus.
        least: Bytes that are worth a job. Where there are too many workers for that, some get no
            chunk.

    Returns:
        Bytes of a chunk.
    """
    rounds = -(-total // (chunk_size * max(1, workers)))
    if not 0 < rounds <= _EVEN_ROUNDS:
        return chunk_size
    return max(min(least, chunk_size), -(-total // (rounds * max(1, workers))))


def equal_part(total: int, chunk_size: int) -> int:
    """The bytes of one of the equal parts into which `total` bytes are divided.

    About `chunk_size`: what would be left over, if it is at most a tenth of a chunk, makes all the
    parts a little larger instead of one more.
    """
    parts = (total + chunk_size - chunk_size // 10 - 1) // chunk_size
    return -(-total // max(1, parts))
