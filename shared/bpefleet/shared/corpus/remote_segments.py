"""The files of a chunk that lie in stores: opened in its order, small ones some time before."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bpefleet.shared.corpus.formats import ROWS
from bpefleet.shared.stores.reading.remote_file import RemoteFile
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.trust.roots import demand_allowed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.shared.wire.messages import Segment

_MOST_FILES: Final = 32
_MOST_BYTES: Final = 32 << 20
"""Of files that are read ahead of the one that is being counted."""


class RemoteSegments:
    """Opens segments, each after the one before.

    Args:
        segments: Those of a chunk.
        roots: Where they must lie; anywhere, if there are none.
    """

    def __init__(self, segments: Iterable[Segment], roots: Sequence[str] = ()) -> None:
        self._left = deque(segment for segment in segments if is_url(segment.path))
        self._open: deque[tuple[Segment, RemoteFile]] = deque()
        self._roots = roots

    @contextmanager
    def opened(self, segment: Segment) -> Iterator[RemoteFile]:
        """The file of a segment.

        Raises:
            ForbiddenPathError: It lies outside the roots.
            SourceError: Its store cannot be used.
        """
        self._open_ahead()
        if self._open and self._open[0][0] == segment:
            file = self._open.popleft()[1]
        else:
            file = self._file(segment)
        with file:
            yield file

    def _open_ahead(self) -> None:
        held = sum(_length(segment) for segment, _ in self._open)
        while self._left and len(self._open) < _MOST_FILES:
            held += _length(self._left[0])
            if self._open and held > _MOST_BYTES:
                return
            segment = self._left.popleft()
            self._open.append((segment, self._file(segment)))
            if segment.format not in ROWS:
                self._open[-1][1].expect([(segment.start, segment.end)])

    def _file(self, segment: Segment) -> RemoteFile:
        demand_allowed(segment.path, self._roots)
        return RemoteFile(segment.path, segment.version)


def _length(segment: Segment) -> int:
    """Bytes that are read ahead of a segment; of a table's rows none are."""
    return 0 if segment.format in ROWS else segment.end - segment.start
