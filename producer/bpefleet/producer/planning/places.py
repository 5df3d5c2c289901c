"""Where a file may be cut: text where nothing changes, JSON Lines after a line, tables by rows.

Compressed files are cut between their frames, which end anywhere in the text: what reads such a
part finds out where it begins and ends (see `bpefleet.shared.corpus.compressed.owned`).
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.formats.compressed.frames import frame_starts, reader
from bpefleet.producer.planning.opening import opened_source
from bpefleet.shared.corpus.formats import COUNTS, JSON_LINES, ROWS, compression_of
from bpefleet.shared.errors import SourceError
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.kernel import Cutter
    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.planning.formats.compressed.frames import Read
    from bpefleet.shared.corpus.files import File

_WINDOW: Final = 64 * 1024
"""Bytes in which a cut is looked for first; twice as many each time that there is none."""
_MAX_WINDOW: Final = 16 * 1024 * 1024
"""Bytes that are looked through at once at the most."""
_MOST_READS: Final = 256
"""In the search for the frames of an object in a store."""


class Places(ExitStack):
    """Where files may be cut, one file after the other: one of text is opened once."""

    def __init__(self, cutter: Cutter) -> None:
        """Prepare to look; `cutter` finds the cuts of plain text."""
        super().__init__()
        self._cutter = cutter
        self._opened: tuple[SourceFile, File] | None = None

    def next(self, file: SourceFile, at: int, target: int, near: int) -> int:
        """The first place at or after `target` where a file may be cut, else its end.

        Args:
            file: Which.
            at: What is cut off must end after this.
            target: Where, as `at` in what the file's segments count in.
            near: Bytes of text by which a table is cut elsewhere if a row group or batch ends
                there, and a compressed file earlier if a frame does.

        Raises:
            SourceError: The file cannot be read.
        """
        if compression_of(file.format):
            # Of a sample it must be known where in the text a part begins.
            return file.extent if file.name else _between_frames(file, at, target, near)
        if file.format in ROWS:
            return _between_rows(file, at, target, near)
        try:
            if self._opened is None or self._opened[0] is not file:
                self.close()
                source = opened_source(file.path, file.version, file.size)
                self._opened = file, self.enter_context(source)
            if file.format in (JSON_LINES, COUNTS):
                return _find(self._opened[1], _after_line, 1, target, file.size)
            first, reach = self._cutter.first, self._cutter.reach
            return _find(self._opened[1], first, reach, target, file.size)
        except OSError as error:
            raise SourceError(f"{file.path}: {error.strerror}") from error


def _between_frames(file: SourceFile, at: int, target: int, near: int) -> int:
    """The end of the first frame at or after `target`, or of the one before if that is near."""
    starts = _frame_starts(file)
    after = bisect_left(starts, target)
    before = starts[after - 1] if after else 0
    if before > at and file.text_to(target) - file.text_to(before) <= near:
        return before
    return starts[after] if after < len(starts) else file.extent


@lru_cache(maxsize=1)
def _frame_starts(file: SourceFile) -> list[int]:
    try:
        with opened_source(file.path, file.version, file.size) as source:
            read = _sparing(reader(source)) if is_url(file.path) else reader(source)
            return frame_starts(read, file.size, compression_of(file.format))
    except OSError as error:
        raise SourceError(f"{file.path}: {error.strerror}") from error


def _sparing(read: Read) -> Read:
    """Reads a few times only: of what lies in a store, a walk along its frames reads all."""
    left = iter(range(_MOST_READS))

    def some(offset: int, length: int) -> bytes:
        if next(left, None) is None:
            raise LookupError("its frames are in no table")
        return read(offset, length)

    return some


def _between_rows(file: SourceFile, at: int, target: int, near: int) -> int:
    """The end of a row group or batch, if one is near: more would be read twice. Else any row."""
    from bpefleet.producer.planning.formats.tables import edges  # noqa: PLC0415  needs pyarrow

    ends = edges(file.path, file.version, file.size, file.format)
    after = bisect_left(ends, target)
    text = file.text_to(target)
    found = [
        (abs(file.text_to(end) - text), end)
        for end in ends[max(0, after - 1) : after + 1]
        if at < end
    ]
    distance, end = min(found, default=(near + 1, target))
    return end if distance <= near else target


def _find(
    file: File,
    first: Callable[[bytes, int, int], int | None],
    reach: int,
    target: int,
    size: int,
) -> int:
    """The first cut at or after `target`, else the end of the file.

    Args:
        file: The file.
        first: The first cut in some bytes at or after a place and before another.
        reach: Bytes before and after a cut that decide on it.
        target: Where to begin.
        size: Bytes of the file.
    """
    window = _WINDOW
    while target < size:
        base = max(0, target - reach)
        data = file.pread(target + window + reach - base, base)
        found = first(data, target - base, target - base + window)
        if found is not None:
            return min(size, base + found)
        target += window
        window = min(2 * window, _MAX_WINDOW)
    return size


def _after_line(data: bytes, start: int, end: int) -> int | None:
    """The first begin of a line in `data[start:end]`."""
    newline = data.find(b"\n", start - 1, end - 1)
    return newline + 1 if newline >= 0 else None
