"""The `bpefleet` command.

Results go to stdout; progress, warnings and errors to stderr. Exit codes: `errors.ExitCode`.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

import click

from bpefleet.producer import cli_options as options_
from bpefleet.producer import cli_runs
from bpefleet.producer.cli_options import EXIT_CODES, Size
from bpefleet.producer.cli_summary import summarize
from bpefleet.shared.command import ENVIRONMENT, error_as_exit, from_environment
from bpefleet.shared.errors import ExitCode, InterruptedRunError
from bpefleet.shared.startup import collect_rarely

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


_PROGRAMS: Final = ("dashboard", "worker")
"""Commands that are programs of their own, found by name: producer, worker and dashboard do not
import each other."""


class _Commands(click.Group):
    """The commands of the producer, and the other programs, which it does not import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_PROGRAMS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _PROGRAMS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"bpefleet.{cmd_name}.__main__")
        return cast("click.Command", module.main)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=ENVIRONMENT,
)
@click.version_option(package_name="bpefleet", prog_name="bpefleet")
def cli() -> None:
    """Train byte-level BPE tokenizers on corpora that outgrow one machine."""


@cli.command(epilog=EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@options_.vocab_size_option
@options_.out_option
@click.option(
    "--pattern",
    default="cl100k",
    show_default=True,
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
    default=("<|endoftext|>",),
    show_default=True,
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
@click.option(
    "--errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Bytes that are not UTF-8: stop at them, or count U+FFFD in their place.",
)
@options_.format_option
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
    """Train a tokenizer on SOURCE...: files, folders or quoted globs of UTF-8 text.

    The result is the same for any chunk size and any number of workers.

    \b
    bpefleet train corpus.txt --vocab-size 32000 -o tokenizer
    bpefleet train 'corpus/**/*.txt' --vocab-size 100000 --pattern o200k -o tokenizer
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    from bpefleet.producer.api import train as train_  # noqa: PLC0415  --help stays quick

    special = () if no_special_tokens else special_tokens
    result = train_(sources, out=out, special_tokens=special, progress=True, **options)
    summarize(result, as_json=as_json)


for command in cli_runs.COMMANDS:
    cli.add_command(command)
for command in cli.commands.values():
    from_environment(command)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # SIGTERM takes the way of Ctrl-C, which asyncio turns into an orderly end.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Run the command; every error of ours becomes one message and an exit code."""
    collect_rarely()
    signal.signal(signal.SIGTERM, _stop)
    try:
        with error_as_exit():
            cli(prog_name="bpefleet", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        click.echo("error: stopped", err=True)
        sys.exit(InterruptedRunError.exit_code)
