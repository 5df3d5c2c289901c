"""The ledger of a run that encodes: a line for each chunk whose piece is written.

DIR/encoded.jsonl    appended to and synced; that a chunk has a line means *encoded*

The piece itself is on disk, under its name, before its worker tells of it. A crash may leave half a
line, which opening removes, and a piece without a line, which is written again with the same bytes.
A chunk whose piece is gone or of another size is encoded again; of two lines the later one counts.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import open_regular, reading, sync_folder, unwritable
from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.errors import OutputError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.wire.encoding import Encoded, piece_name
from bpefleet.shared.wire.messages import Message, MessageError, Natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan

ENCODED: Final = "encoded.jsonl"


class _Line(Message, frozen=True):
    chunk: Natural
    encoded: Encoded


class EncodedLedger:
    """The encoded chunks of a run. Threads may add different ones at once; see `settled.Settled`.

    Attributes:
        chunks: Indexes of the encoded chunks.
        pieces: What each worker said, by chunk.
        totals: Their sums.
        by_source: The same by source.
        tokens: Tokens in them.
        documents: Documents that end in them.
        unique: Always 0: nothing is counted.
        still: Held while these change, for a moment each time.
    """

    unique = 0

    def __init__(self, folder: Path, plan: Plan) -> None:
        """Open it.

        Raises:
            OutputError: It cannot be read or written, or is damaged.
        """
        self.chunks = ChunkSet()
        self.pieces: dict[int, Encoded] = {}
        self.totals = Totals()
        self.by_source: dict[int, Totals] = {}
        self.tokens = self.documents = 0
        self.still = Lock()
        self._path = folder / ENCODED
        self._sources = plan.chunk_sources
        lines, end = _read(self._path, plan.chunk_count)
        with _explained(self._path), suppress(FileNotFoundError):
            if self._path.stat().st_size > end:
                os.truncate(self._path, end)
        if (encoding := plan.encoding) is not None:
            place = place_of(encoding.place)
            there = {c: e for c, e in lines.items() if place.size(piece_name(c)) == e.size}
            self._note(there.items())

    def add(self, items: Sequence[tuple[int, Encoded]]) -> None:
        """Add chunks, on disk when this returns.

        Raises:
            OutputError: The disk is full or fails; the ledger is as it was.
        """
        data = b"".join(_Line(chunk, each).to_bytes() + b"\n" for chunk, each in items)
        with self.still, _explained(self._path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with os.fdopen(open_regular(self._path, flags), "ab", buffering=0) as file:
                before = file.seek(0, os.SEEK_END)
                try:
                    left = memoryview(data)
                    while left:
                        left = left[file.write(left) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(before)
                    raise
            if not before:
                sync_folder(self._path.parent)
            self._note(items)

    def _note(self, items: Iterable[tuple[int, Encoded]]) -> None:
        for chunk, each in items:
            self.chunks.add(chunk)
            self.pieces[chunk] = each
            sums = _sums(each)
            source = self._sources[chunk] if self._sources else 0  # none while a corpus arrives
            self.totals = self.totals.plus(sums)
            self.by_source[source] = self.by_source.get(source, Totals()).plus(sums)
            self.tokens += each.tokens
            self.documents += each.documents


def read_encoded(
    folder: Path, count: int, sources: Sequence[int] = ()
) -> tuple[ChunkSet, Totals, dict[int, Totals], tuple[int, int]]:
    """Which chunks have a line, their sums, these by source, their tokens and documents.

    Args:
        folder: The run's directory.
        count: How many chunks it has.
        sources: For each chunk its source; without, there is nothing to tell by source.

    Raises:
        OutputError: It cannot be read, or is damaged.
    """
    lines, _ = _read(folder / ENCODED, count)
    totals, by_source = Totals(), dict[int, Totals]()
    for chunk, each in lines.items():
        totals = totals.plus(_sums(each))
        if sources:
            before = by_source.get(sources[chunk], Totals())
            by_source[sources[chunk]] = before.plus(_sums(each))
    found = list(lines.values())
    written = sum(each.tokens for each in found), sum(each.documents for each in found)
    return ChunkSet(lines), totals, by_source, written


def _sums(each: Encoded) -> Totals:
    return Totals(
        bytes_read=each.bytes_read,
        replaced=each.replaced,
        seconds=each.seconds,
        peak_rss=each.peak_rss,
        records=each.records,
        absent=each.absent,
    )


def _read(path: Path, count: int) -> tuple[dict[int, Encoded], int]:
    """The lines, and where the last whole one ends."""
    found: dict[int, Encoded] = {}
    end = 0
    with _explained(path), suppress(FileNotFoundError), reading(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                said = _Line.from_bytes(line)
            except MessageError as error:
                raise OutputError(f"{path} is damaged: {error}") from error
            if said.chunk >= count:
                raise OutputError(f"{path} is damaged: there is no chunk {said.chunk}")
            found[said.chunk] = said.encoded
            end += len(line)
    return found, end


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error
