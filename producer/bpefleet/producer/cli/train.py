"""The commands that make a tokenizer: train, resume, merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.producer.cli import options as options_
from bpefleet.producer.cli.early import fork_spares
from bpefleet.producer.cli.options import EXIT_CODES, Size
from bpefleet.producer.cli.printing.summary import summarize, summarize_any

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path


@click.command(epilog=EXIT_CODES)
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@options_.from_counts_option
@options_.vocab_size_option
@options_.out_option
@click.option(
    "--pattern",
    show_default="cl100k",
    metavar="NAME|REGEX",
    help="How text is split: gpt2, cl100k, gpt4, nanochat, llama3, qwen2, o200k, tekken, "
    "deepseek-v3, or any regex of the `regex` package (slower; files of engines that would read it "
    "otherwise are not written, which is said at once).",
)
@click.option(
    "--special-token",
    "special_tokens",
    multiple=True,
    metavar="TOKEN",
    show_default="<|endoftext|>",
    help="Separates documents; never counted or merged. Repeat for several.",
)
@click.option("--no-special-tokens", is_flag=True, help="Have none, not even the default.")
@options_.role_options
@options_.tie_break_option
@options_.min_frequency_option
@options_.max_token_length_option
@click.option(
    "--chunk-size",
    type=Size(),
    show_default="256MiB, or 16MiB with a regex",
    metavar="SIZE",
    help="Text in one counting job, at most about; less, down to 8 MiB (512 KiB with a regex), "
    "where that has all workers end together. Beside its Python a worker needs some 50 MB for "
    "200 MB of English, 120 MB for 90 MB of multilingual text; with a regex of your own, the chunk "
    "several times over.",
)
@options_.errors_option("count")
@options_.format_options
@options_.spool_option
@options_.allow_fewer_option
@options_.export_option
@options_.resource_options
def train(
    sources: tuple[str, ...],
    out: Path,
    *,
    special_tokens: tuple[str, ...],
    no_special_tokens: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a tokenizer on SOURCE...: files, folders or quoted globs, as paths or URLs.

    They hold UTF-8 text, JSON Lines, Parquet or Arrow; the first two may be compressed. The result
    is the same for any chunk size and any number of workers.

    - is standard input: it is kept on disk as it arrives, and counted when it has ended. A file
    NAME.toml by itself is a corpus file: a table for each source of a mixture.

    \b
    bpefleet train corpus.txt --vocab-size 32000 -o tokenizer
    bpefleet train 'shards/*.jsonl.zst' --vocab-size 32000 -o tokenizer
    bpefleet train 'corpus/**/*.txt' --vocab-size 100000 --pattern o200k -o tokenizer
    zcat corpus/*.gz | bpefleet train - --vocab-size 32000 -o tokenizer
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    if not sources and options["from_counts"] is None:
        raise click.UsageError("Missing argument 'SOURCE...'.")
    fork_spares(options)
    from bpefleet.producer.api import train as train_  # noqa: PLC0415  --help stays quick

    special = () if no_special_tokens else special_tokens or None
    result = train_(sources or None, out=out, special_tokens=special, progress=True, **options)
    summarize(result, as_json=as_json)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@options_.resource_options
def resume(directory: Path, *, as_json: bool, **resources: Any) -> None:
    """Go on with the run in DIR after a crash, an error, a reboot or Ctrl-C.

    What is counted is not counted again. Failed chunks are tried again, too. Another Redis and
    other workers than before may do the work.
    """
    fork_spares(resources)
    from bpefleet.producer.planning.options import Resources  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.run.pipeline import resume as resume_  # noqa: PLC0415

    summarize_any(resume_(directory, Resources(**resources, progress=True)), as_json=as_json)


@click.command(epilog=EXIT_CODES)
@options_.directories_argument
@options_.vocab_size_option
@options_.out_option
@options_.role_options
@options_.tie_break_option
@options_.min_frequency_option
@options_.max_token_length_option
@options_.allow_fewer_option
@options_.export_option
@click.option(
    "--weight",
    "weights",
    type=options_.Weight(),
    multiple=True,
    metavar="NAME=WEIGHT",
    help="Another weight for the source of this name: code=3, web=0.5, or 0 to leave it out. "
    "Repeat for several; the others keep theirs.",
)
@options_.quiet_option
@options_.log_options
@options_.json_option
def merge(
    directories: tuple[Path, ...],
    *,
    out: Path,
    weights: tuple[tuple[str, Fraction], ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Train another tokenizer on the counts kept in DIR, without counting again.

    The counts of several runs are added up. They must have the same pattern and special tokens,
    which stay: the counts depend on them. Sources of the same name are one. What the special tokens
    are for stays, too, as the first run has it, where no option says otherwise.
    """
    from bpefleet.producer.counts.merge_again import merge_again  # noqa: PLC0415  --help stays quick

    options["max_token_length"] = options["max_token_length"] or 0  # as long as it may be
    result = merge_again(directories, out, options, weights=dict(weights), quiet=quiet)
    summarize(result, as_json=as_json)


COMMANDS: Final = (train, resume, merge)
