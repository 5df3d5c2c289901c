"""What a run tells people at its end: surprises in the result, and how to go on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bpefleet.shared.process.amounts import several

if TYPE_CHECKING:
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.manifest import Manifest


logger = logging.getLogger(__name__)


def report(manifest: Manifest) -> None:
    """Warn of what may be surprising about a finished run."""
    totals, options = manifest.totals, manifest.options
    if totals.replaced:
        found = several(totals.replaced, "invalid byte sequence")
        were = "was" if totals.replaced == 1 else "were"
        logger.warning("%s %s replaced by U+FFFD", found, were)
    if totals.absent:
        text = "%s of %s had no text"
        logger.warning(text, f"{totals.absent:,}", several(totals.records, "record"))
    if totals.unmatched_bytes:
        text = "%s bytes of text match no part of the pattern and were not counted"
        logger.warning(text, f"{totals.unmatched_bytes:,}")
    if totals.vocab_size < options.vocab_size:
        logger.warning(
            "the corpus holds only %s merges: the vocabulary has %s tokens, not %s",
            *(f"{n:,}" for n in (totals.merges, totals.vocab_size, options.vocab_size)),
        )


def kept(directory: RunDirectory) -> str:
    """A hint for a stopped run: what it leaves, and how to go on."""
    if directory.has_counts:
        return f"what was counted is kept; go on with it: bpefleet resume {directory.path}"
    if directory.touched:
        return f"nothing was counted yet; go on with it: bpefleet resume {directory.path}"
    return "nothing was counted yet; start again"
