"""Counting what a `CountSpec` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel.segments import count_segments, engine
from bpefleet.shared.errors import UsageError
from bpefleet.shared.patterns import counting_digest, resolve
from bpefleet.shared.reading import source_errors

if TYPE_CHECKING:
    from bpefleet.kernel._kernel import Counts
    from bpefleet.kernel.segments import Tally
    from bpefleet.shared.messages import CountSpec


def demand_same_counting(spec: CountSpec) -> None:
    """Make sure that this side splits text exactly as the producer's side does.

    Raises:
        UsageError: It does not: another version of the kernel, of Unicode or of `regex`.
    """
    pattern = resolve(spec.pattern)
    here = engine(pattern.name if pattern.native else None)
    digest = counting_digest(pattern, spec.special_tokens, here)
    if digest.hex() != spec.digest:
        raise UsageError(
            f"this worker ({here}) would split text differently from the run's producer",
            hint="install the same version of bpefleet on both sides",
        )


def count_spec(spec: CountSpec) -> tuple[Counts, Tally]:
    """Read and count the segments of a chunk.

    Raises:
        SourceError: A source cannot be read, changed, or holds invalid text.
    """
    pattern = resolve(spec.pattern)
    with source_errors():
        return count_segments(
            spec.segments,
            native=pattern.name if pattern.native else None,
            splits=pattern.splits,
            special_tokens=spec.special_tokens,
            errors=spec.errors,
        )
