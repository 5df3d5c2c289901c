"""Pieces: what encode jobs write, one a chunk, to be put together in the corpus's order.

A piece is the ids of its chunk, then where its documents end (8 bytes each, in ids from the piece's
start), then for each of the chunk's segments how many ids and ends are its (8 bytes each); all
little-endian. It depends on the chunk alone, so two attempts at one write the same bytes.
"""

from __future__ import annotations

import time
from array import array
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, TypeAlias

from bpefleet.shared.corpus.reading import source_errors
from bpefleet.shared.corpus.remote_segments import RemoteSegments
from bpefleet.shared.corpus.sampling import seeds
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.errors import SourceError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.trust.roots import demand_opened
from bpefleet.shared.wire.encoding import Encoded, piece_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.wire.encoding import EncodeSpec

    Kernel: TypeAlias = Any
    """`bpefleet.kernel.encoding`, which nothing in `shared` imports."""

_WIDE: Final = 8


class Extent(NamedTuple):
    """Where in a piece what is: ids, ends, and what its segments have."""

    ids: int
    ends: int
    size: int

    @classmethod
    def of(cls, tokens: int, documents: int, segments: int, width: int) -> Extent:
        """Of a piece with so many of each."""
        ids = tokens * width
        ends = ids + documents * _WIDE
        return cls(ids, ends, ends + 2 * _WIDE * segments)


def write_piece(
    spec: EncodeSpec, chunk: int, kernel: Kernel, encoder: object, roots: Sequence[str] = ()
) -> Encoded:
    """Encode a chunk, and write its piece.

    Args:
        spec: Which segments, and how they are encoded.
        chunk: The chunk's index.
        kernel: Encodes.
        encoder: The tokenizer's.
        roots: Folders in which the sources must lie; if there are none, they may lie anywhere.

    Raises:
        BpefleetError: As `reading.count_spec`.
        OutputError: The piece cannot be written.
    """
    started, begun = time.time(), time.perf_counter()
    text, pattern = spec.text, resolve(spec.text.pattern)
    writing = 0.0
    with place_of(spec.place).writing(piece_name(chunk)) as file:

        def write(data: Any) -> None:
            nonlocal writing
            start = time.perf_counter()
            _write_all(file, data)
            writing += time.perf_counter() - start

        tokens = kernel.Tokens(write, spec.width, spec.separator)
        with source_errors():
            tally, parts = kernel.encode_segments(
                text.segments,
                tokens,
                encoder=encoder,
                ends=spec.ends,
                pattern=pattern.name if pattern.native else "",
                special_tokens=text.special_tokens,
                errors=text.errors,
                admit=partial(demand_opened, roots=roots),
                reader=SegmentReader(text.text_field, RemoteSegments(text.segments, roots)),
                share=text.sample.share if text.sample else 0,
                seeds=seeds(text.sample) if text.sample else (),
            )
        encoded = time.perf_counter() - begun - writing
        write(tokens.ends.tobytes())
        write(array("Q", [number for part in parts for number in part]).tobytes())
        start = time.perf_counter()
    writing += time.perf_counter() - start
    seconds = time.perf_counter() - begun
    extent = Extent.of(tokens.count, len(tokens.ends), len(parts), spec.width)
    return Encoded(
        size=extent.size,
        tokens=tokens.count,
        documents=len(tokens.ends),
        open=tokens.open,
        conditional=tokens.conditional,
        bytes_read=tally.bytes_read,
        replaced=tally.replaced,
        seconds=seconds,
        peak_rss=peak_rss(),
        worker="",
        started=started,
        ended=started + seconds,
        read_seconds=tally.read_seconds,
        scan_seconds=encoded - tally.read_seconds,
        publish_seconds=writing,
        records=tally.records,
        absent=tally.absent,
    )


def _write_all(file: BinaryIO, data: Any) -> None:
    left = memoryview(data).cast("B")
    while left:
        left = left[file.write(left) :]


def numbers_at(file: BinaryIO, start: int, end: int, name: str) -> array[int]:
    """The numbers of 8 bytes in a part of a piece.

    Raises:
        SourceError: It ends before.
    """
    file.seek(start)
    found = array("Q", b"")
    data = file.read(end - start)
    if len(data) != end - start:
        raise SourceError(f"the piece {name} ends before its end")
    found.frombytes(data)
    return found
