"""The sources of a mixture in words, for `bpefleet status` and at a run's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.process.amounts import several, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.shared.wire.shown.status import SourceView


def lines_of(sources: Iterable[SourceView]) -> Iterator[str]:
    """A line for each source: its share of the mixture, its weight, what was counted of it."""
    for source in sources:
        weighted = f", weight {source.weight}" if source.weight != "1" else ""
        sampled = f", {100 * source.sample:.3g} % of its documents" if source.sample < 1 else ""
        yield (
            f"{source.name or '(unnamed)'}: {100 * source.share:.1f} % of the mixture{weighted}; "
            f"{size(source.bytes)} of text in {several(source.files, 'file')}{sampled}"
        )
