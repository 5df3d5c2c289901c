"""Pieces of an evaluation: what was measured of a chunk, a line a tokenizer.

The chunks begin with documents, so their sums add up to those of the whole corpus.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import Sampler
from bpefleet.shared.corpus.sampling import seeds
from bpefleet.shared.errors import SourceError
from bpefleet.shared.measuring.batch import Batch
from bpefleet.shared.measuring.candidates import candidate_of
from bpefleet.shared.measuring.reading import read_documents
from bpefleet.shared.measuring.sums import Measured
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.tokenizer.parts import Parts, demanded
from bpefleet.shared.wire.encoding import ENCODER, Encoded, piece_name
from bpefleet.shared.wire.messages import Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.measuring.candidates import Candidate
    from bpefleet.shared.wire.encoding import EncodeSpec

LARGEST: Final = 1 << 30
"""Bytes of a piece, or of the file with the tokenizers, at the most."""


class Judged(Message, frozen=True):
    """What is evaluated, for workers.

    Attributes:
        names: The tokenizers' names.
        tokenizers: The tokenizers.
        sources: The sources' names, as people know them.
    """

    names: tuple[str, ...]
    tokenizers: tuple[Parts, ...]
    sources: tuple[str, ...]

    def candidates(self, threads: int) -> list[Candidate]:
        """The tokenizers, to be measured."""
        each = zip(self.names, self.tokenizers, strict=True)
        return [candidate_of(parts.tokenizer, name, threads) for name, parts in each]


@lru_cache(maxsize=2)
def read_judged(place: str, digest: str) -> Judged:
    """What is evaluated, from its file in a place of outputs.

    Raises:
        SourceError: It cannot be read.
        OutputError: It is another file.
    """
    return demanded(Judged, ENCODER, place, digest, LARGEST)


def write_measured(
    spec: EncodeSpec, chunk: int, candidates: Sequence[Candidate], roots: Sequence[str] = ()
) -> Encoded:
    """Measure a chunk, and write its piece.

    Args:
        spec: Which segments.
        chunk: The chunk's index.
        candidates: The tokenizers.
        roots: Folders in which the sources must lie; if there are none, they may lie anywhere.

    Raises:
        BpefleetError: As `reading.read_documents`.
        OutputError: The piece cannot be written.
    """
    started, begun = time.time(), time.perf_counter()
    text, batch = spec.text, Batch(candidates)
    chosen = seeds(text.sample) if text.sample else ()
    size = records = absent = 0
    for at, segment in enumerate(text.segments):
        found = read_documents(
            segment,
            batch.take,
            special_tokens=text.special_tokens,
            errors=text.errors,
            text_field=text.text_field,
            sampler=Sampler(chosen[at], text.sample.share) if text.sample else None,
            roots=roots,
        )
        size, records, absent = size + found.size, records + found.records, absent + found.absent
    measured = batch.ended()
    data = b"\n".join(one.to_bytes() for one in measured)
    written = time.perf_counter()
    with place_of(spec.place).writing(piece_name(chunk)) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
    seconds = time.perf_counter() - begun
    return Encoded(
        size=len(data),
        tokens=measured[0].sum_of("tokens"),
        documents=measured[0].documents,
        open=False,
        conditional=False,
        bytes_read=size,
        replaced=0,
        seconds=seconds,
        peak_rss=peak_rss(),
        worker="",
        started=started,
        ended=started + seconds,
        scan_seconds=written - begun,
        publish_seconds=begun + seconds - written,
        records=records,
        absent=absent,
    )


def read_measured(place: str, chunk: int) -> list[Measured]:
    """What was measured of a chunk.

    Raises:
        SourceError: It cannot be read, or is damaged.
    """
    lines = place_of(place).read(piece_name(chunk), LARGEST).split(b"\n")
    try:
        return [*map(Measured.from_bytes, lines)]
    except MessageError as error:
        raise SourceError(f"{piece_name(chunk)} in {place} is damaged: {error}") from error
