"""What comes of a run: its result, what may surprise people in it, and how to go on."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpefleet.producer.store.directory import PLAN
from bpefleet.producer.store.manifest import Manifest
from bpefleet.shared.process.amounts import several
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokens.index import Index

if TYPE_CHECKING:
    from bpefleet.producer.store.directory import RunDirectory

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        directory: Where its files are.
        trained: What was trained, on what, how long it took.
        seconds: How long this process took.
        report: The run's report; None if there is none.
        report_seconds: How long writing the report took.
    """

    directory: Path
    trained: Manifest
    seconds: float = 0.0
    report: Path | None = None
    report_seconds: float = 0.0

    @property
    def manifest(self) -> dict[str, Any]:
        """The same as `manifest.json` has it."""
        return self.trained.to_json()

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The trained tokenizer."""
        return Tokenizer.load(self.directory)


@dataclass(frozen=True)
class EncodeResult:
    """A finished run that encoded.

    Attributes:
        directory: Its directory.
        place: Where the shards are: that directory, another folder or a URL.
        index: What is in them.
        seconds: How long this process took.
    """

    directory: Path
    place: str
    index: Index
    seconds: float = 0.0


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
    """A hint for a stopped run: what it leaves, and how to go on. Empty if it has no plan yet."""
    if not (directory.path / PLAN).exists():
        return ""
    done = directory.plan.kind.done
    if directory.has_counts:
        return f"what was {done} is kept; go on with it: bpefleet resume {directory.path}"
    if directory.touched:
        return f"nothing was {done} yet; go on with it: bpefleet resume {directory.path}"
    return f"nothing was {done} yet; start again"
