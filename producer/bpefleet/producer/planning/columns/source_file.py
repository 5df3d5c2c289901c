"""A file of the corpus, as it was when the run was planned."""

from __future__ import annotations

from bpefleet.shared.corpus.formats import (
    COUNTS,
    COUNTS_TABLE,
    ROWS,
    TEXT,
    compression_of,
    kind_of,
)
from bpefleet.shared.wire.messages import Int, Message, Natural, Segment


class SourceFile(Message, frozen=True, omit_defaults=True):
    """One file of the corpus as it was when the run was planned.

    Attributes:
        path: Absolute path, or a URL.
        size: Bytes.
        mtime_ns: Time of last change, nanoseconds since the epoch; 0 for an object in a store.
        format: How it is read: one of `bpefleet.shared.corpus.formats.FORMATS`.
        rows: Rows of a table; 0 for other formats.
        expected: Bytes of text that it is expected to hold; None for as many as it has itself.
        source: Which of the plan's sources it belongs to.
        name: What it is called in the hash that samples its source; empty if that is taken whole.
        frames: Of a compressed file, where those frames begin that parts of it begin with.
        version: Of an object in a store, what tells it from another in its place: its ETag, or
            the time of its last change; empty where the store tells neither.
    """

    path: str
    size: Natural
    mtime_ns: Int
    format: str = TEXT
    rows: Natural = 0
    expected: Natural | None = None
    source: Natural = 0
    name: str = ""
    frames: tuple[Natural, ...] = ()
    version: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it is no text, but a table of counts."""
        return kind_of(self.format) in (COUNTS, COUNTS_TABLE)

    @property
    def extent(self) -> int:
        """What its segments count in, in all: rows of a table, else bytes of the file."""
        return self.rows if self.format in ROWS else self.size

    @property
    def text(self) -> int:
        """Bytes of text in it: of plain text exactly, else as expected."""
        return self.size if self.expected is None else self.expected

    def may_be_cut_at(self, place: int) -> bool:
        """Whether a part of it may begin or end there, as far as that is known without reading."""
        whole = not compression_of(self.format)
        return whole or place in (0, self.size) or place in self.frames

    def segment(self, start: int, end: int) -> Segment:
        """A part of it, for a job."""
        is_frames = compression_of(self.format) and end < self.size
        until = self.size if is_frames else 0
        return Segment(self.path, start, end, self.format, until, self.version)

    def text_to(self, place: int) -> int:
        """Bytes of text before a place in the file, as if it were spread evenly.

        Args:
            place: At most `extent`, and counted as that is.
        """
        return place if self.expected is None else self.expected * place // max(1, self.extent)

    def place_of(self, text: int) -> int:
        """The first place with at least so many bytes of text before it; at most `extent`."""
        if self.expected is None:
            return min(text, self.size)
        return min(self.extent, -(-text * self.extent // max(1, self.expected)))
