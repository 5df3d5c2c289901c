"""What the commands of producer, workers and dashboard share."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.process import logs
from bpefleet.shared.process.machine import demand_supported
from bpefleet.shared.process.text import paragraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENVIRONMENT: Final = (
    "Every option can be given as an environment variable: BPEFLEET_ and its name, such as "
    "BPEFLEET_VOCAB_SIZE for --vocab-size. Several values are divided by spaces. The command line "
    "counts first."
)
KEY_HELP: Final = "The fleet's shared key, made by `bpefleet keygen`. Needed across a network."


@contextmanager
def error_as_exit() -> Iterator[None]:
    """Within the block, a `BpefleetError` becomes one message on stderr and its exit code."""
    try:
        demand_supported()
        yield
    except BpefleetError as error:
        click.echo(f"error: {paragraph(error.message)}", err=True)
        if error.hint:
            click.echo(f"hint: {paragraph(error.hint)}", err=True)
        sys.exit(error.exit_code)


def from_environment(command: click.Command) -> click.Command:
    """Let each option of `command` be given as an environment variable, see `ENVIRONMENT`."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not (parameter.hidden or parameter.envvar):
            name = max(parameter.opts, key=len).lstrip("-")
            parameter.envvar = f"BPEFLEET_{name.replace('-', '_').upper()}"
    return command


def redis_option(*names: str, text: str, **more: Any) -> Callable[..., Any]:
    """`--redis URL`.

    Args:
        names: What the parameter is called, if not `redis`.
        text: The help.
        more: What else `click.option` takes.
    """
    return click.option(
        "--redis",
        *names,
        metavar="URL",
        envvar="BPEFLEET_REDIS",
        show_envvar=True,
        help=text,
        **more,
    )


def key_file_option(text: str = KEY_HELP) -> Callable[..., Any]:
    """`--key-file FILE`; `text` is the help."""
    return click.option(
        "--key-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar="BPEFLEET_KEY_FILE",
        show_envvar=True,
        help=text,
    )


def port_option(default: int) -> Callable[..., Any]:
    """`--port`, of a page."""
    return click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=default,
        show_default=True,
        help="0 for any that is free.",
    )


def log_format_option(**more: Any) -> Callable[..., Any]:
    """`--log-format`; `more` is what else `click.option` takes."""
    return click.option(
        "--log-format",
        type=click.Choice(logs.FORMATS),
        default=logs.HUMAN,
        show_default=True,
        help=logs.HELP,
        **more,
    )


def parent_option() -> Callable[..., Any]:
    """`--die-with-parent PID`, for the programs that a run starts; see `die_with_parent`."""
    return click.option(
        "--die-with-parent",
        "parent",
        type=int,
        metavar="PID",
        hidden=True,
        help="End at once when the process PID, which started this one, ends.",
    )
