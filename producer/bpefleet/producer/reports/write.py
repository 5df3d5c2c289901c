"""Writes a finished run's report: `report.md`, and `report.html`, a page that needs nothing else.

A run writes it only when asked to, or where a dashboard may show it: measuring takes a second or
two, more than a hundredth of most runs.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import write_atomically
from bpefleet.producer.observing.chunk_times import read_times
from bpefleet.producer.observing.posting import post_report
from bpefleet.producer.observing.snapshot import at_rest
from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.reports.content import Facts, content
from bpefleet.producer.reports.measuring.held_out import held_out_files
from bpefleet.producer.reports.measuring.measure import curve, measure
from bpefleet.producer.reports.measuring.sample import sample
from bpefleet.producer.reports.profile import profile
from bpefleet.producer.reports.render import markdown, page
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.errors import BpefleetError, UsageError
from bpefleet.shared.measuring.candidates import candidate_of, find_candidate
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.reports.measuring.measure import Measured
    from bpefleet.producer.reports.measuring.sample import Source

logger = logging.getLogger(__name__)

MARKDOWN: Final = "report.md"
HTML: Final = "report.html"
SAMPLE: Final = 4_000_000
"""Bytes of text to measure on, about."""


def write_report(
    path: Path,
    *,
    compare: Sequence[str] = (),
    held_out: Sequence[str] = (),
    sample_bytes: int | None = None,
    redis: str | None = None,
    text_field: str | None = None,
    asked: str = AUTO,
) -> list[Path]:
    """Write the report of a finished run into its directory, and show it on the run's page.

    Args:
        path: The directory.
        compare: Other tokenizers to measure (see `find_candidate`). A warning and the report name
            those that cannot be measured, and why.
        held_out: Files, folders, globs or URLs to measure on, or a corpus file; if empty, the run's
            own text.
        sample_bytes: How much of it to encode, about; None for `SAMPLE`.
        redis: The Redis that a dashboard reads; None for no page.
        text_field: Where records of `held_out` have their text; None for where the run's have it.
        asked: The format of `held_out`, as in training.

    Returns:
        The files written.

    Raises:
        OutputError: The run is not finished, is damaged, or the report cannot be written.
        QueueError: The report is written and cannot be shown.
        SourceError: The text cannot be read or has changed.
        UsageError: The run was trained on counts, and there is no text; or tiktoken does not take
            its pattern; or there is nothing held out that a format or a field is given for.
    """
    directory = RunDirectory.open(path)
    manifest = directory.finished
    tokenizer = Tokenizer.load(path)
    of_text = [file for file in directory.plan.files if not file.is_counted]
    if not (held_out or of_text):
        raise UsageError(
            "the run was trained on counts, of which there is no text to measure on",
            hint=f"name some: bpefleet report {path} --held-out FILE",
        )
    field = manifest.options.text_field
    files: Sequence[SourceFile] = of_text
    fields = [one.text_field or field for one in directory.plan.sources]
    if held_out:
        files, fields = held_out_files(held_out, asked, text_field or field)
    elif text_field or asked != AUTO:
        raise UsageError(
            "a format or a text field is given, and no text that it is of",
            hint="name some by --held-out: the run's own text is read as it was in training",
        )
    sources = sample(files, tokenizer.special_tokens, sample_bytes or SAMPLE, fields)
    compared, failed = _compare(compare, sources)
    times = read_times(directory)
    facts = Facts(
        directory=directory,
        manifest=manifest,
        profile=profile(directory, times),
        ends=times.ends,
        tokenizer=tokenizer,
        held_out=bool(held_out),
        measured=(measure(candidate_of(tokenizer, "this one"), sources), *compared),
        curve=tuple(curve(tokenizer, sources)),
        uncompared=tuple(failed),
    )
    report = content(facts)
    texts = {MARKDOWN: markdown(report), HTML: page(report)}
    # Names of files may hold lone surrogates.
    written = {name: text.encode(errors="backslashreplace") for name, text in texts.items()}
    for name, data in written.items():
        write_atomically(path / name, data)
    if redis is not None:
        post_report(redis, at_rest(directory, time.time()), written[HTML])
    return [path / name for name in written]


def _compare(
    names: Sequence[str], sources: Sequence[Source]
) -> tuple[list[Measured], list[tuple[str, str]]]:
    """What others make of the sample; and those that cannot be asked, with the reason."""
    measured, failed = [], []
    for name in names:
        try:
            measured.append(measure(find_candidate(name), sources))
        except BpefleetError as error:
            failed.append((name, error.message))
            hint = f"; {error.hint}" if error.hint else ""
            logger.warning("%s is not compared: %s%s", name, error.message, hint)
    return measured, failed
