"""Evaluating: measures what tokenizers make of a chunk, to where the run's sums will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.worker.chunk.corpus import roots
from bpefleet.worker.tasks.encode import answered

if TYPE_CHECKING:
    from bpefleet.shared.wire.encoding import Encoded, EncodeSpec


def evaluate_chunk(run: str, chunk: int, spec: EncodeSpec) -> Encoded:
    """Measure one chunk, and write what was measured.

    Args:
        run: The run's id.
        chunk: The chunk's index.
        spec: What to measure; the tokenizers lie in its place.

    Raises:
        BpefleetError: As `encode.encode_chunk`.
    """
    # Slow to import; of no use to workers that count.
    from bpefleet.shared.measuring.pieces import read_judged, write_measured  # noqa: PLC0415

    return answered(
        run,
        chunk,
        spec,
        lambda: read_judged(spec.place, spec.tokenizer).candidates(threads=1),
        lambda candidates: write_measured(spec, chunk, candidates, roots()),
    )
