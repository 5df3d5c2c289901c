"""The `bpefleet` command.

Results go to stdout; progress, warnings and errors to stderr. Exit codes: `errors.ExitCode`.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import orjson

from bpefleet.shared.errors import BpefleetError, ExitCode, InterruptedRunError

if TYPE_CHECKING:
    from types import FrameType

    from bpefleet.producer.run import RunResult

_UNITS: Final = {"": 1, "k": 10**3, "ki": 2**10, "m": 10**6, "mi": 2**20, "g": 10**9, "gi": 2**30}
_EXIT_CODES: Final = "Exit codes: " + ", ".join(
    f"{code.value} {code.name.lower().replace('_', ' ')}" for code in ExitCode
)


class Size(click.ParamType[int]):
    """A number of bytes: `33554432`, `32MiB`, `64 MB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a size, or end with click's usage error."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+)\s*([kmg]?i?)b?\s*", value, re.IGNORECASE)
        if match is None or match[2].lower() not in _UNITS or int(match[1]) == 0:
            self.fail(f"{value!r} is no size; write it as 64MiB or 100MB", param, ctx)
        return int(match[1]) * _UNITS[match[2].lower()]


_json_option = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
_redis_option = click.option(
    "--redis",
    metavar="URL",
    envvar="BPEFLEET_REDIS",
    show_envvar=True,
    help="Redis whose workers count: redis://, rediss:// or unix://. "
    "Without it a private server is started for the run.",
)
_workers_option = click.option(
    "--workers",
    type=click.IntRange(min=0),
    metavar="N",
    help="Local workers. Default: one a core, or none with --redis. "
    "0 without --redis counts in this process, with no server.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("bpefleet"), prog_name="bpefleet")
def cli() -> None:
    """Train byte-level BPE tokenizers on corpora that outgrow one machine."""


@cli.command(epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--vocab-size",
    type=int,
    required=True,
    metavar="N",
    help="Tokens in all: 256 bytes, the merges, the special tokens.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="New directory for the run and its files.",
)
@click.option(
    "--pattern",
    default="cl100k",
    show_default=True,
    metavar="NAME|REGEX",
    help="How text is split: gpt2, cl100k, gpt4, nanochat, llama3, qwen2, o200k, tekken, "
    "deepseek-v3, or any regex of the `regex` package (slower).",
)
@click.option(
    "--special-token",
    "special_tokens",
    multiple=True,
    metavar="TOKEN",
    default=("<|endoftext|>",),
    show_default=True,
    help="Separates documents; never counted or merged. Repeat for several.",
)
@click.option("--no-special-tokens", is_flag=True, help="Have none, not even the default.")
@click.option(
    "--tie-break",
    type=click.Choice(["lexmax", "rawid", "hf", "lexmin"]),
    default="lexmax",
    show_default=True,
    help="Which pair wins among equal counts: the greatest bytes (CS336, ffbpe), the "
    "smallest ids (rustbpe, bpeasy), Hugging Face's rule, the smallest bytes.",
)
@click.option(
    "--min-frequency",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Merge no pair that occurs less often.",
)
@click.option(
    "--max-token-length",
    type=click.IntRange(min=2),
    metavar="BYTES",
    help="Make no token longer than this.",
)
@click.option(
    "--chunk-size",
    type=Size(),
    show_default="128MiB, or 16MiB with a regex",
    metavar="SIZE",
    help="Text in one counting job, at most about. A worker needs some 25 MB beside its Python, "
    "or with a regex of your own the chunk several times over.",
)
@click.option(
    "--errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Bytes that are not UTF-8: stop at them, or count U+FFFD in their place.",
)
@click.option(
    "--allow-fewer-merges",
    is_flag=True,
    help="Accept a corpus that holds too few merges for the vocabulary.",
)
@click.option(
    "--export",
    multiple=True,
    type=click.Choice(["pickle"]),
    help="Also write vocab.pkl and merges.pkl.",
)
@_workers_option
@_redis_option
@_json_option
def train(
    sources: tuple[str, ...],
    out: Path,
    *,
    special_tokens: tuple[str, ...],
    no_special_tokens: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a tokenizer on SOURCE...: files, folders or quoted globs of UTF-8 text.

    The result is the same for any chunk size and any number of workers.

    \b
    bpefleet train corpus.txt --vocab-size 32000 -o tokenizer
    bpefleet train 'corpus/**/*.txt' --vocab-size 100000 --pattern o200k -o tokenizer
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    from bpefleet.producer.api import train as train_  # noqa: PLC0415  --help stays quick

    special = () if no_special_tokens else special_tokens
    result = train_(sources, out=out, special_tokens=special, progress=True, **options)
    _summarize(result, as_json=as_json)


@cli.command(epilog=_EXIT_CODES)
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@_workers_option
@_redis_option
@_json_option
def resume(directory: Path, *, as_json: bool, **resources: Any) -> None:
    """Go on with the run in DIR after a crash, an error or Ctrl-C."""
    from bpefleet.producer.options import Resources  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.run import resume as resume_  # noqa: PLC0415

    _summarize(resume_(directory, Resources(**resources, progress=True)), as_json=as_json)


@cli.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def worker(arguments: tuple[str, ...]) -> None:
    """Serve any run on a Redis: bpefleet worker --redis URL [-n N]."""
    # Producer and worker never import each other: the worker is a program of its own.
    command = [sys.executable, "-m", "bpefleet.worker", *arguments]
    os.execv(sys.executable, command)  # noqa: S606  no shell is wanted


def _summarize(result: RunResult, *, as_json: bool) -> None:
    if as_json:
        summary = {"directory": str(result.directory), **result.manifest}
        click.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2))
        return
    totals, stages = result.manifest["totals"], result.manifest["stages"]
    counting, merging = (stages[name]["seconds"] for name in ("count", "merge"))
    click.echo(
        f"{result.directory}: {totals['vocab_size']:,} tokens of {totals['bytes']:,} bytes "
        f"({totals['pretokens']:,} pre-tokens, {totals['unique_pretokens']:,} unique); "
        f"counted in {counting:.1f} s, merged in {merging:.1f} s"
    )


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # SIGTERM takes the way of Ctrl-C, which asyncio turns into an orderly end.
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Run the command; every error of ours becomes one message and an exit code."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        cli(standalone_mode=False)
    except BpefleetError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("error: stopped", err=True)
        sys.exit(InterruptedRunError.exit_code)
