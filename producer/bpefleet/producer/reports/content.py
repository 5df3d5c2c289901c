"""What a report says of a run, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bpefleet.producer.reports.document import Report
from bpefleet.producer.reports.measuring.measure import Measured
from bpefleet.producer.reports.profile import Profile
from bpefleet.producer.reports.sections.compression import comparison, compression
from bpefleet.producer.reports.sections.summary import corpus, mixture, summary
from bpefleet.producer.reports.sections.throughput import throughput
from bpefleet.producer.reports.sections.timing import slowest_chunks, stages, workers
from bpefleet.producer.reports.sections.tokens import tokens
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import Attempt
from bpefleet.producer.store.manifest import Manifest
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.reports.document import Part


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report is made of.

    Attributes:
        directory: The run.
        manifest: Its manifest.
        profile: Where its time went.
        ends: The attempts that counted its chunks.
        tokenizer: What it made.
        held_out: Whether it was measured on text that it was not trained on.
        measured: The tokenizer, and then those that it is compared with, on the same sample.
        curve: Bytes per token by size of the vocabulary.
        uncompared: What could not be compared, each with the reason.
    """

    directory: RunDirectory
    manifest: Manifest
    profile: Profile
    ends: tuple[Attempt, ...]
    tokenizer: Tokenizer
    held_out: bool
    measured: tuple[Measured, ...]
    curve: tuple[tuple[int, float], ...]
    uncompared: tuple[tuple[str, str], ...] = ()


def content(facts: Facts) -> Report:
    """The report."""
    return Report(facts.directory.path.absolute().name, tuple(_parts(facts)))


def _parts(facts: Facts) -> Iterator[Part]:
    profile, ours = facts.profile, facts.measured[0]
    yield from summary(facts.manifest, profile)
    yield from corpus(facts.directory.plan.files)
    yield from mixture(facts.manifest)
    yield from stages(profile)
    if not profile.counts_of:
        yield from throughput(facts.ends)
    yield from workers(profile)
    yield from slowest_chunks(profile)
    yield from compression(ours, facts.curve, len(facts.tokenizer.ranks), held_out=facts.held_out)
    yield from comparison(facts.measured, facts.uncompared)
    yield from tokens(facts.tokenizer.ranks)
