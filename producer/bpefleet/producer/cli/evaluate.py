"""The command that compares tokenizers: evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from bpefleet.producer.cli import options as options_
from bpefleet.producer.cli.early import fork_spares
from bpefleet.producer.cli.options import EXIT_CODES, Size


@click.command(epilog=EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-t",
    "--tokenizer",
    "tokenizers",
    multiple=True,
    required=True,
    metavar="TOKENIZER",
    help="A run's directory, a tokenizer.json, or a name that tiktoken knows such as cl100k_base, "
    "which may need the network. Repeat for several; they are compared with the first.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write one page with plots, which needs nothing else.",
)
@click.option(
    "--special-token",
    "special_tokens",
    multiple=True,
    metavar="TOKEN",
    show_default="<|endoftext|>",
    help="Separates documents of plain text; part of none. Repeat for several.",
)
@options_.errors_option("measure")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), metavar="DIR",
    help="Keep the run of workers there, to go on with if it is stopped; workers on other machines "
    "must see it under the same path. Default: a temporary directory.",
)  # fmt: skip
@click.option(
    "--chunk-size", type=Size(), show_default="256MiB", metavar="SIZE",
    help="Text in one job, at most about. Plain text is cut at special tokens only.",
)  # fmt: skip
@options_.format_options
@options_.evaluate_resource_options
def evaluate(
    sources: tuple[str, ...],
    tokenizers: tuple[str, ...],
    *,
    html: Path | None,
    special_tokens: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare tokenizers on SOURCE...: files, folders or quoted globs, as paths or URLs.

    Each is a source by itself; so is each table of a corpus file NAME.toml. Told for each tokenizer
    on each source: bytes and characters per token, tokens per word, words divided among tokens,
    Rényi efficiency, what of the vocabulary does not occur, documents that decoding does not give
    back; and which tokens no text is ever encoded with. Intervals have a confidence of 95 %.

    It is done in this process, where Ctrl-C ends it without a result; or by workers, as training:
    then `bpefleet resume DIR` goes on. The figures are the same.

    \b
    bpefleet evaluate en.txt de.txt -t tokenizer -t cl100k_base
    bpefleet evaluate 'corpus/*.jsonl' -t a -t b --workers 8 -o evaluation
    bpefleet evaluate corpus.toml -t a -t b --html evaluation.html
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    if any(options[name] is not None for name in ("workers", "redis", "out")):
        fork_spares(options, trains=False)
    from bpefleet.producer.api.evaluating import evaluate as evaluate_  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.cli.printing.evaluation import show  # noqa: PLC0415  likewise
    from bpefleet.producer.planning.options import DEFAULT_SPECIAL_TOKENS  # noqa: PLC0415
    from bpefleet.producer.progress.progress import Progress  # noqa: PLC0415

    special = special_tokens or DEFAULT_SPECIAL_TOKENS
    with Progress(show=True, quiet=quiet) as progress:
        found = evaluate_(
            sources,
            tokenizers,
            special_tokens=special,
            show=progress.show,
            quiet=quiet,
            progress=True,
            **options,
        )
    show(found, html, as_json=as_json)


COMMANDS: Final = (evaluate,)
