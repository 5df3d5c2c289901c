"""The command that encodes a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.producer.cli import options as options_
from bpefleet.producer.cli.early import fork_spares
from bpefleet.producer.cli.options import EXIT_CODES, Number, Size

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog=EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-t", "--tokenizer", required=True, metavar="TOKENIZER",
    help="A run's directory, a tokenizer.json, or a name that tiktoken knows, "
    "such as cl100k_base, which may need the network.",
)  # fmt: skip
@options_.out_option
@click.option(
    "--format",
    type=click.Choice(["bin", "npy", "llm.c", "megatron", "parquet", "arrow"]),
    default="bin",
    show_default=True,
    help="bin: ids and nothing else, as nanoGPT maps them. npy: a NumPy array. llm.c: ids behind "
    "its header. megatron: Megatron's indexed dataset. parquet, arrow: a row a document, its ids "
    "in the column input_ids. Beside the first three, where documents end is in a file .ends.",
)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    show_default=True,
    help="What an id is; auto: uint16 if all ids fit.",
)
@click.option(
    "--separator",
    metavar="TOKEN",
    show_default="<|endoftext|>, if the tokenizer has it",
    help="The special token that ends each document; '' for none. In plain text it divides "
    "documents; without it a file is one.",
)
@click.option(
    "--shard-size",
    type=Number(),
    default="100m",
    show_default=True,
    metavar="N",
    help="A shard ends with the document with which it has so many tokens; 0: all in one.",
)
@click.option(
    "--shards",
    metavar="DIR|URL",
    help="Write the shards there: a folder that all workers see under that path, or a URL such as "
    "s3://bucket/folder. Default: the run's directory.",
)
@click.option(
    "--chunk-size",
    type=Size(),
    show_default="256MiB, or 16MiB with a regex",
    metavar="SIZE",
    help="Text in one job, at most about. No shard depends on it.",
)
@options_.errors_option("encode")
@options_.source_format_options
@options_.spool_option
@options_.encode_resource_options
def encode(sources: tuple[str, ...], *, out: Path, as_json: bool, **options: Any) -> None:
    """Encode SOURCE... with a tokenizer: files, folders or quoted globs, as paths or URLs.

    A record is a document; in plain text what ends with the separator is. The shards have the
    documents in the corpus's order, and are the same for any chunk size and any workers.

    - is standard input. A file NAME.toml by itself is a corpus file: of its sources the samples are
    taken; a weight of 0 leaves a source out, and no other means anything.

    \b
    bpefleet encode corpus.txt -t tokenizer -o tokens
    bpefleet encode 'shards/*.jsonl.zst' -t tokenizer --format megatron -o tokens
    zcat corpus/*.gz | bpefleet encode - -t tokenizer -o tokens
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    fork_spares(options, trains=False)
    from bpefleet.producer.api.encoding import encode as encode_  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.cli.printing.encoded import summarize  # noqa: PLC0415  likewise

    summarize(encode_(list(sources), out=out, progress=True, **options), as_json=as_json)


@click.command(epilog=EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-t", "--tokenizer", "tokenizers", required=True, multiple=True, metavar="TOKENIZER",
    help="As for encode. Repeat for several.",
)  # fmt: skip
@click.option(
    "-o", "--out", type=click.Path(), metavar="DIR",
    help="Keep the runs there, one for each tokenizer; workers on other machines must see it under "
    "the same path. Default: a temporary directory.",
)  # fmt: skip
@click.option(
    "--per-document", type=click.Path(dir_okay=False), metavar="FILE",
    help="Also write the tokens of each document, as Parquet: tokenizer, source, document, tokens.",
)  # fmt: skip
@click.option(
    "--chunk-size", type=Size(), show_default="256MiB, or 16MiB with a regex", metavar="SIZE",
    help="Text in one job, at most about.",
)  # fmt: skip
@options_.errors_option("take")
@options_.source_format_options
@options_.spool_option
@options_.encode_resource_options
def count_tokens(sources: tuple[str, ...], *, as_json: bool, **options: Any) -> None:
    """Count the tokens of SOURCE... by one or more tokenizers, in all and by file or source.

    Special tokens in the text are tokens; nothing is put between documents. SOURCE is as for
    encode; from standard input by one tokenizer.

    \b
    bpefleet count-tokens corpus.txt -t tokenizer -t other
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    fork_spares(options, trains=False)
    from bpefleet.producer.api.token_counts import count_tokens as count  # noqa: PLC0415
    from bpefleet.producer.cli.printing.encoded import show_counts  # noqa: PLC0415  likewise

    show_counts(count(list(sources), progress=True, **options), as_json=as_json)


COMMANDS: Final = (encode, count_tokens)
