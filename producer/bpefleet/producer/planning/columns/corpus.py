"""The corpus of a plan: its files and its chunks, read from disk only where they are asked for."""

from __future__ import annotations

from functools import cached_property
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeAlias

from bpefleet.producer.planning.columns.chunks import Chunks
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.wire.messages import Message, Natural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bpefleet.producer.planning.columns.files import Files
    from bpefleet.producer.planning.mixture.source import PlannedSource

    Load: TypeAlias = Callable[[], tuple[Files, Chunks]]


class Totals(Message, frozen=True):
    """What most need to know of a corpus.

    Attributes:
        files: How many files there are.
        chunks: How many chunks.
        bytes: Bytes of text to count: of plain text that is taken whole exactly, else as expected.
        exact: Whether these bytes are certain.
        files_of: For each source the number of its files.
        chunks_of: The source of some chunks, and their number: of those at the beginning, of the
            next ones, and so on.
    """

    files: Natural
    chunks: Natural
    bytes: Natural
    exact: bool
    files_of: tuple[Natural, ...]
    chunks_of: tuple[tuple[Natural, Natural], ...]


class Corpus:
    """The files and the chunks of a plan.

    Those of a corpus that arrives become more while others read: a chunk is there once its file is.
    """

    def __init__(self, load: Load, totals: Totals | None = None) -> None:
        """A corpus.

        Args:
            load: Reads the files and the chunks.
            totals: Of it, if they are known.
        """
        self._load = load
        self._totals = totals

    @classmethod
    def of(cls, files: Files, ends: Iterable[tuple[int, int]]) -> Corpus:
        """The corpus of some files, whose chunks end at these places."""
        parts = files, Chunks(files, ends)
        return cls(lambda: parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Corpus) and self._parts == other._parts

    __hash__ = None  # type: ignore[assignment]  # it can be added to

    @cached_property
    def _parts(self) -> tuple[Files, Chunks]:
        return self._load()

    @cached_property
    def files(self) -> Files:
        """The files, in order."""
        return self._parts[0]

    @cached_property
    def chunks(self) -> Chunks:
        """The chunks, in order."""
        return self._parts[1]

    @property
    def chunk_count(self) -> int:
        """How many chunks there are by now."""
        if self._totals is None or self._is_here:
            return len(self.chunks)
        return self._totals.chunks

    def totals(self, sources: Sequence[PlannedSource]) -> Totals:
        """The totals, of what is there by now.

        Args:
            sources: The plan's.
        """
        known = self._totals
        if known is None or (self._is_here and self._grown(known)):
            known = self._totals = totals_of(self.files, self.chunks, sources)
        return known

    @property
    def _is_here(self) -> bool:
        """Whether it need not be read first."""
        return "_parts" in vars(self)

    def _grown(self, known: Totals) -> bool:
        return (known.files, known.chunks) != (len(self.files), len(self.chunks))


def totals_of(files: Files, chunks: Chunks, sources: Sequence[PlannedSource]) -> Totals:
    """The totals of files and chunks."""
    # Of those that are being added: as many as there are now, and no chunk without its file.
    chunk_count = len(chunks)
    count = len(files)
    of_each = [0] * len(sources)
    text = 0
    for source, held in islice(files.texts(), count):
        of_each[source] += 1
        text += sources[source].taken(held)
    runs: Iterable[tuple[int, Iterable[object]]]
    if len(sources) == 1:
        runs = [(0, range(chunk_count))] if chunk_count else []
    else:
        runs = groupby(files.sources[chunks.begin(chunk)[0]] for chunk in range(chunk_count))
    return Totals(
        files=count,
        chunks=chunk_count,
        bytes=text,
        exact=files.formats == (TEXT,) and not any(source.sampled for source in sources),
        files_of=tuple(of_each),
        chunks_of=tuple((source, sum(1 for _ in run)) for source, run in runs),
    )
