"""Checks that this worker reads and counts as its producer expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.kernel.segments import engine
from bpefleet.shared.corpus.formats import KNOWN
from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.patterns import counting_digest, resolve

if TYPE_CHECKING:
    from bpefleet.shared.wire.messages import CountSpec


def demand_same_counting(spec: CountSpec) -> None:
    """Make sure that this worker knows the formats, and splits text exactly as the producer does.

    Raises:
        UsageError: It does not: one of the two has another version of bpefleet, of the kernel, of
            Unicode or of `regex`.
    """
    if unknown := {segment.format for segment in spec.segments} - set(KNOWN):
        raise UsageError(
            f"this worker does not read the format {min(unknown)!r}",
            hint="install the same version of bpefleet on both sides",
        )
    pattern = resolve(spec.pattern)
    here = engine(pattern.name if pattern.native else None)
    digest = counting_digest(pattern, spec.special_tokens, here)
    if digest.hex() != spec.digest:
        raise UsageError(
            f"this worker ({here}) would split text differently from the run's producer",
            hint="install the same version of bpefleet on both sides",
        )
