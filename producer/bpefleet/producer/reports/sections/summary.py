"""What a run was: of what, with what, and what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpefleet.producer.reports.document import Heading, Paragraph, Table
from bpefleet.producer.reports.sample import group
from bpefleet.producer.reports.sections.words import in_mb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.producer.planning.sources import SourceFile
    from bpefleet.producer.reports.document import Part
    from bpefleet.producer.reports.profile import Profile


def summary(manifest: dict[str, Any], profile: Profile) -> Iterator[Part]:
    """The run in a sentence, and the facts of it."""
    options, totals = manifest["options"], manifest["totals"]
    tokens, text = f"{totals['vocab_size']:,} tokens", f"{in_mb(totals['bytes'])} of text"
    took = f"{profile.seconds:.1f} s"
    yield Paragraph(
        f"{tokens}, merged in {took} from the counts of {text} that {source} made."
        if (source := profile.counts_of)
        else f"{tokens}, trained on {text} in {took}."
    )
    rows = [
        ("run", str(manifest["run"])),
        ("pattern", str(options["pattern"])),
        ("tie rule", str(options["tie_break"])),
        ("special tokens", " ".join(options["special_tokens"]) or "none"),
        ("merges", f"{totals['merges']:,}"),
        ("pre-tokens", f"{totals['pretokens']:,}"),
        ("different pre-tokens", f"{totals['unique_pretokens']:,}"),
        ("invalid sequences replaced", f"{totals['replaced']:,}"),
        ("bytes that the pattern misses", f"{totals['unmatched_bytes']:,}"),
        ("chunks left out", f"{len(manifest.get('missing', [])):,}"),
        *((name, str(number)) for name, number in manifest["versions"].items()),
    ]
    yield Table("What was trained, with what", ("fact", "value"), tuple(rows))


def corpus(files: Sequence[SourceFile]) -> Iterator[Part]:
    """What the tokenizer was trained on, by source."""
    yield Heading("Trained on")
    whole = sum(file.size for file in files)
    rows = []
    for name, members in group(files).items():
        size = sum(file.size for file in members)
        rows.append((name, f"{len(members):,}", in_mb(size), f"{100 * size / whole:.1f} %"))
    yield Table(
        f"{len(files):,} {'files' if len(files) > 1 else 'file'}, {in_mb(whole)}",
        ("source", "files", "text", "share"),
        tuple(rows),
        frozenset({1, 2, 3}),
    )
