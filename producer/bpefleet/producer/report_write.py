"""Writes a finished run's report: `report.md`, and `report.html`, a page that needs nothing else.

Not a part of training: measuring takes seconds, more than a hundredth of most runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.directory import RunDirectory
from bpefleet.producer.files import write_atomically
from bpefleet.producer.profile import profile, read_manifest
from bpefleet.producer.report_compare import encoder_of, find_encoder
from bpefleet.producer.report_content import Facts, content
from bpefleet.producer.report_html import page
from bpefleet.producer.report_markdown import markdown
from bpefleet.producer.report_measure import curve, measure
from bpefleet.producer.report_sample import sample
from bpefleet.producer.sources import find_files
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MARKDOWN: Final = "report.md"
HTML: Final = "report.html"


def write_report(
    path: Path,
    *,
    compare: Sequence[str],
    held_out: Sequence[str],
    sample_bytes: int,
    warn: Callable[[str], None],
) -> list[Path]:
    """Write the report of a finished run into its directory.

    Args:
        path: The directory.
        compare: Other tokenizers to measure (see `report_compare`).
        held_out: Files, folders or globs to measure on; if empty, the run's own text.
        sample_bytes: How much of it to encode, about.
        warn: Told what is passed over.

    Returns:
        The files written.

    Raises:
        OutputError: The run is not finished, is damaged, or the report cannot be written.
        SourceError: The text cannot be read or has changed, or a tokenizer cannot.
        UsageError: There is no such tokenizer.
    """
    directory = RunDirectory.open(path)
    manifest = read_manifest(directory)
    tokenizer = Tokenizer.load(path)
    encoders = [encoder_of(tokenizer, "this one"), *map(find_encoder, compare)]
    files = find_files(held_out, warn) if held_out else directory.plan.files
    sources = sample(files, tokenizer.special_tokens, sample_bytes)
    facts = Facts(
        directory=directory,
        manifest=manifest,
        profile=profile(directory),
        tokenizer=tokenizer,
        held_out=bool(held_out),
        measured=tuple(measure(encoder, sources) for encoder in encoders),
        curve=tuple(curve(tokenizer, sources)),
    )
    parts = content(facts)
    title = f"bpefleet: {path.absolute().name}"
    texts = {MARKDOWN: markdown(parts), HTML: page(title, parts)}
    for name, text in texts.items():
        # Names of files may hold lone surrogates.
        write_atomically(path / name, text.encode(errors="backslashreplace"))
    return [path / name for name in texts]
