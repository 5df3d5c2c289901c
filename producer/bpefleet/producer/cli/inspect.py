"""The commands that show a run: status, failed, profile, report, counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from bpefleet.producer.cli import options as options_
from bpefleet.producer.cli.options import EXIT_CODES
from bpefleet.shared.process.command import redis_option


@click.command(epilog=EXIT_CODES)
@click.argument("run", metavar="DIR|RUN")
@redis_option(text="The Redis that a run named by its id uses.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--watch", is_flag=True, help="Print it again every second until the run ends.")
def status(run: str, *, redis: str | None, as_json: bool, watch: bool) -> None:
    """Show how far a run is: chunks by state, rate, time left, workers, failures.

    A run is named by its directory, or by its id together with --redis.
    """
    from bpefleet.producer.cli.printing.status import show  # noqa: PLC0415  --help stays quick

    show(run, redis, as_json=as_json, watch=watch)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.option(
    "--traceback", "chunk", type=click.IntRange(min=0), metavar="CHUNK",
    help="Show all attempts at this chunk instead, with their tracebacks.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def failed(directory: Path, *, chunk: int | None, as_json: bool) -> None:
    """List the failed chunks of the run in DIR.

    One line each: chunk, source and bytes, attempts, worker, last error.
    """
    from bpefleet.producer.cli.printing.status import show_attempts, show_failed  # noqa: PLC0415

    if chunk is None:
        show_failed(directory, as_json=as_json)
    else:
        show_attempts(directory, chunk, as_json=as_json)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with all chunks' times.")
def profile(directory: Path, *, as_json: bool) -> None:
    """Tell where the time of the run in DIR went, and which chunks were slow and why."""
    from bpefleet.producer.cli.printing.profile import show_profile  # noqa: PLC0415  --help stays quick

    show_profile(directory, as_json=as_json)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.option(
    "--compare", multiple=True, metavar="TOKENIZER",
    help="Also measure another tokenizer: a tokenizer.json, a run directory, or an encoding of "
    "tiktoken such as cl100k_base, which may need the network. Repeat for several.",
)  # fmt: skip
@click.option(
    "--held-out", multiple=True, metavar="SOURCE",
    help="Measure on this text, which the run was not trained on: a file, folder, glob, URL or "
    "corpus file. Repeat for several. Without it a part of the run's own text is used.",
)  # fmt: skip
@click.option(
    "--format", "asked", type=click.Choice(options_.FORMATS), default="auto", show_default=True,
    help="The format of what is held out, as in training.",
)  # fmt: skip
@click.option(
    "--text-field", "--text-column", "text_field", metavar="NAME", show_default="the run's",
    help="Where records of what is held out have their text.",
)  # fmt: skip
@click.option(
    "--sample", "sample_bytes", type=options_.Size(), show_default="4MB",
    metavar="SIZE", help="How much text to measure on, about.",
)  # fmt: skip
@click.option("--redis", metavar="URL", envvar="BPEFLEET_REDIS", show_envvar=True,
              help="Show report.html on the run's page, too, for a day.")  # fmt: skip
def report(directory: Path, **options: Any) -> None:
    """Write report.md and report.html about the finished run in DIR, into DIR.

    What it was trained on, time and memory by stage, workers, bytes per token as the vocabulary
    grows and by source, the longest tokens, other tokenizers beside it.
    """
    from bpefleet.producer.progress.progress import Progress  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.reports.write import write_report  # noqa: PLC0415  likewise

    with Progress(show=True):
        written = write_report(directory, **options)
    for path in written:
        click.echo(path)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write here, not to stdout; Parquet if the name ends with .parquet.",
)  # fmt: skip
def counts(directory: Path, *, out: Path | None) -> None:
    """Write the pre-tokens that the run in DIR counted, the most frequent first.

    A line for each: the pre-token in the characters of GPT-2's files, where a space is Ġ, a tab,
    and how often it occurred; in a mixture, by its weights as whole numbers. In Parquet: the
    columns pretoken (its bytes) and count.
    """
    from bpefleet.producer.counts.counts_table import counts_of, write_counts, write_tsv  # noqa: PLC0415

    if out:
        click.echo(f"{out}: {write_counts(directory, out):,} pre-tokens")
    else:
        write_tsv(counts_of(directory), sys.stdout.buffer)


COMMANDS: Final = (status, failed, profile, report, counts)
