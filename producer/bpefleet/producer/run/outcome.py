"""What a run says at its end: what people may not expect of it, and how to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.manifest import Manifest


def report(manifest: Manifest, progress: Progress) -> None:
    """Warn of what a person may not expect of a finished run."""
    totals, options = manifest.totals, manifest.options
    if totals.replaced:
        progress.warn(f"{totals.replaced:,} invalid byte sequences were replaced by U+FFFD")
    if totals.unmatched_bytes:
        progress.warn(
            f"{totals.unmatched_bytes:,} bytes of text match no part of the pattern and were "
            "not counted"
        )
    if totals.vocab_size < options.vocab_size:
        progress.warn(
            f"the corpus holds only {totals.merges:,} merges: the vocabulary has "
            f"{totals.vocab_size:,} tokens, not {options.vocab_size:,}"
        )


def kept(directory: RunDirectory) -> str:
    """What a stopped run leaves, and how to go on: a hint."""
    if directory.has_counts:
        return f"what was counted is kept; go on with it: bpefleet resume {directory.path}"
    if directory.touched:
        return f"nothing was counted yet; go on with it: bpefleet resume {directory.path}"
    return "nothing was counted yet; start again"
