"""The work of each kind in this process, as a worker does it."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

from bpefleet.kernel.segments import count_segments
from bpefleet.shared.corpus.reading import count_spec, encode
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire.encoding import ENCODER
from bpefleet.shared.wire.messages import Counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.kernel.encoding import Encodes
    from bpefleet.shared.wire.encoding import Encoded, EncodeSpec
    from bpefleet.shared.wire.messages import CountSpec


def count_in_process(spec: CountSpec, _chunk: int, roots: Sequence[str]) -> tuple[Counted, bytes]:
    """Count a chunk.

    Raises:
        BpefleetError: As `reading.count_spec` and `reading.encode`.
    """
    began, start = time.time(), time.perf_counter()
    counts, tally = count_spec(spec, count_segments, roots)
    scanned = time.perf_counter()
    payload = encode(counts, spec.digest)
    seconds = time.perf_counter() - start
    counted = Counted(
        key="",
        sha256="",
        size=len(payload),
        bytes_read=tally.bytes_read,
        pretokens=counts.pretokens,
        unique=len(counts),
        replaced=tally.replaced,
        unmatched=tally.unmatched,
        seconds=seconds,
        peak_rss=peak_rss(),
        worker="",
        started=began,
        ended=began + seconds,
        read_seconds=tally.read_seconds,
        scan_seconds=scanned - start - tally.read_seconds,
        encode_seconds=start + seconds - scanned,
        records=tally.records,
        absent=tally.absent,
    )
    return counted, payload


def encode_in_process(spec: EncodeSpec, chunk: int, roots: Sequence[str]) -> tuple[Encoded, None]:
    """Encode a chunk.

    Raises:
        BpefleetError: As `pieces.write_piece`.
    """
    from bpefleet.kernel import encoding  # noqa: PLC0415  counting needs none
    from bpefleet.shared.corpus.pieces import write_piece  # noqa: PLC0415  likewise

    encoder = _encoder(spec.place, spec.tokenizer)
    return write_piece(spec, chunk, encoding, encoder, roots), None


def evaluate_in_process(spec: EncodeSpec, chunk: int, roots: Sequence[str]) -> tuple[Encoded, None]:
    """Measure what tokenizers make of a chunk.

    Raises:
        BpefleetError: As `measuring.pieces.write_measured`.
    """
    from bpefleet.shared.measuring.pieces import read_judged, write_measured  # noqa: PLC0415

    candidates = read_judged(spec.place, spec.tokenizer).candidates(threads=0)
    return write_measured(spec, chunk, candidates, roots), None


@cache
def _encoder(place: str, digest: str) -> Encodes:
    from bpefleet.shared.tokenizer.parts import read_parts  # noqa: PLC0415  counting needs none

    return read_parts(ENCODER, place, digest).encoder
