"""The commands that act on a run: retry, cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.producer.cli import options as options_
from bpefleet.producer.cli.early import fork_spares
from bpefleet.producer.cli.options import EXIT_CODES
from bpefleet.producer.cli.printing.summary import summarize_any
from bpefleet.shared.process.command import redis_option
from bpefleet.shared.process.text import printable

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.argument("chunks", type=click.IntRange(min=0), nargs=-1, metavar="[CHUNK]...")
@click.option(
    "--errors",
    type=click.Choice(["replace"]),
    help="Count U+FFFD in place of bytes that are not UTF-8. The chunks counted so far have none.",
)
@options_.resource_options
def retry(
    directory: Path, *, chunks: tuple[int, ...], errors: str | None, as_json: bool, **resources: Any
) -> None:
    """Count the failed chunks of the run in DIR again, all or those named, and finish the run.

    \b
    bpefleet failed DIR          which chunks failed, and why
    bpefleet retry DIR 12 31     these two only
    """  # noqa: D301  click's mark for a paragraph to leave as it is
    fork_spares(resources)
    from bpefleet.producer.planning.options import Resources  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.run.retry import retry as retry_  # noqa: PLC0415

    resources_ = Resources(**resources, errors=errors or "", progress=True)
    if result := retry_(directory, chunks, resources_):
        summarize_any(result, as_json=as_json)
    else:
        click.echo(f"the process at {directory} was asked; watch it: bpefleet status {directory}")


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@redis_option(text="Also take the jobs that a dead producer left off this queue.")
def cancel(directory: Path, *, redis: str | None) -> None:
    """Stop the run in DIR, wherever its process is. What is counted is kept.

    The running chunks are finished first; planning and merging end at once.
    """
    from bpefleet.producer.run.cancel import cancel as cancel_  # noqa: PLC0415

    click.echo(printable(cancel_(directory, redis)))


COMMANDS: Final = (retry, cancel)
