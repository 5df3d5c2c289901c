"""The `bpefleet` command.

Results go to stdout; progress, warnings and errors to stderr. Exit codes: `errors.ExitCode`.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import click

from bpefleet.producer.cli import encode, evaluate, fleet, inspect, repair, train
from bpefleet.producer.cli.printing.stdout import explain_failures
from bpefleet.shared.errors import ExitCode, InterruptedRunError
from bpefleet.shared.process.command import ENVIRONMENT, error_as_exit, from_environment
from bpefleet.shared.process.startup import collect_rarely

if TYPE_CHECKING:
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


_MODULES: Final = (train, encode, inspect, evaluate, repair, fleet)

for command in (one for module in _MODULES for one in module.COMMANDS):
    cli.add_command(from_environment(command))


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # SIGTERM takes the way of Ctrl-C, which asyncio turns into an orderly end.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def main() -> None:
    """Run the command. Every `BpefleetError` becomes one message and an exit code."""
    collect_rarely()
    explain_failures()
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
