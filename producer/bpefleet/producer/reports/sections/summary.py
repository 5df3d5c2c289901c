"""The summary of a run: its corpus, its options, and what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.reports.document import Heading, Paragraph, Table
from bpefleet.producer.reports.measuring.sample import group
from bpefleet.producer.reports.sections.words import in_mb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.reports.document import Part
    from bpefleet.producer.reports.profile import Profile
    from bpefleet.producer.store.manifest import Manifest, Sums


def summary(manifest: Manifest, profile: Profile) -> Iterator[Part]:
    """The run in a sentence, and the facts of it."""
    options, totals = manifest.options, manifest.totals
    tokens, text = f"{totals.vocab_size:,} tokens", f"{in_mb(totals.bytes)} of text"
    took = f"{profile.seconds:.1f} s"
    yield Paragraph(
        f"{tokens}, merged in {took} from the counts of {text} that {source} made."
        if (source := profile.counts_of)
        else f"{tokens}, trained on {text} in {took}."
    )
    rate = totals.bytes_per_token
    rows = [
        ("run", manifest.run),
        ("pattern", options.pattern),
        ("tie rule", options.tie_break),
        ("special tokens", " ".join(options.special_tokens) or "none"),
        ("merges", f"{totals.merges:,}"),
        ("pre-tokens", f"{totals.pretokens:,}"),
        ("different pre-tokens", f"{totals.unique_pretokens:,}"),
        ("invalid sequences replaced", f"{totals.replaced:,}"),
        *_records(totals),
        ("bytes that the pattern misses", f"{totals.unmatched_bytes:,}"),
        ("bytes per token on the whole corpus", f"{rate:.3f}" if rate else "not noted"),
        ("chunks left out", f"{len(manifest.missing):,}"),
        *manifest.versions.items(),
    ]
    yield Table("What was trained, with what", ("fact", "value"), tuple(rows))


def _records(totals: Sums) -> tuple[tuple[str, str], ...]:
    """The facts of records, where there are any."""
    if not totals.records:
        return ()
    return (
        ("records", f"{totals.records:,}"),
        ("records without text", f"{totals.absent:,}"),
    )


def corpus(files: Sequence[SourceFile]) -> Iterator[Part]:
    """What the tokenizer was trained on, by source."""
    yield Heading("Trained on")
    whole = sum(file.text for file in files)
    rows = []
    for name, members in group(files).items():
        size = sum(file.text for file in members)
        rows.append((name, f"{len(members):,}", in_mb(size), f"{100 * size / whole:.1f} %"))
    yield Table(
        f"{len(files):,} {'files' if len(files) > 1 else 'file'}, {in_mb(whole)}",
        ("source", "files", "text", "share"),
        tuple(rows),
        frozenset({1, 2, 3}),
    )


def mixture(manifest: Manifest) -> Iterator[Part]:
    """The sources of a mixture and their weights, if it was one."""
    if manifest.mixture:
        columns = ("source", "weight", "of the mixture", "text counted", "pre-tokens", "taken")
        rows = tuple(
            (
                source.name or "(unnamed)",
                source.weight,
                f"{100 * source.share:.1f} %",
                in_mb(source.bytes),
                f"{source.pretokens:,}",
                f"{100 * source.sample:.3g} %",
            )
            for source in manifest.mixture
        )
        title = "The mixture: sources by their weights, as shares of all pre-tokens"
        yield Table(title, columns, rows, frozenset({1, 2, 3, 4, 5}))
