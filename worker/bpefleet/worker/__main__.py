"""`python -m bpefleet.worker`: the command line of the workers."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from bpefleet.shared.process.command import (
    error_as_exit,
    from_environment,
    key_file_option,
    log_format_option,
    parent_option,
    redis_option,
)
from bpefleet.shared.process.logs import VERBOSE
from bpefleet.shared.process.machine import cores
from bpefleet.shared.process.startup import collect_rarely, keep_freed_memory


@from_environment
@click.command(
    "worker",
    help="Serve every run on a Redis with counting workers.",
    epilog=(
        "The workers read the sources themselves, under the paths that the producer was given. "
        "Ctrl-C or SIGTERM once: finish the running chunks, then stop. Twice: stop now; the "
        "chunks are counted again elsewhere."
    ),
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@redis_option(
    "url",
    required=True,
    text="The Redis to serve, such as redis://host:6379/0 or rediss://user:password@host:6379/0. "
    "A password is safer in the environment variable.",
)
@click.option(
    "-n",
    "--processes",
    type=click.IntRange(min=1),
    default=cores,
    show_default="the number of cores",
    help="How many workers to run.",
)
@click.option(
    "--corpus-root",
    "roots",
    multiple=True,
    metavar="DIR|URL",
    envvar="BPEFLEET_CORPUS_ROOT",
    show_envvar=True,
    help="Read sources below this directory only, links followed, or below a URL such as "
    "s3://bucket/folder. Repeat for several. Without it anything that this user can read is "
    "counted for whoever has the key.",
)
@click.option(
    "--output-root",
    "outputs",
    multiple=True,
    metavar="DIR|URL",
    envvar="BPEFLEET_OUTPUT_ROOT",
    show_envvar=True,
    help="Write the tokens of encode runs below this directory, or below such a URL. Repeat for "
    "several. Without it this worker encodes nothing for runs of other machines.",
)
@click.option(
    "--exchange",
    "exchanges",
    multiple=True,
    metavar="DIR|URL",
    envvar="BPEFLEET_EXCHANGE",
    show_envvar=True,
    help="Leave counts at this place, and put them together there, for runs that were started with "
    "the same --exchange. Repeat for several. Without it and --output-root this worker writes no "
    "files.",
)
@key_file_option()
@click.option(
    "--insecure",
    is_flag=True,
    help="Serve a Redis across the network without a key; takes --corpus-root.",
)
@click.option("-v", "--verbose", count=True, help="Log each job on stderr; twice: each step.")
@click.option("-q", "--quiet", is_flag=True, help="Log errors of the workers themselves only.")
@log_format_option()
@parent_option()
def main(*, url: str, verbose: int, quiet: bool, **options: Any) -> None:
    """Parse the options and serve."""
    level = VERBOSE[min(verbose, len(VERBOSE) - 1)]
    if quiet and not verbose:
        level = logging.ERROR
    collect_rarely()
    keep_freed_memory()
    from bpefleet.worker.serve import serve  # noqa: PLC0415  RQ and redis come with it

    with error_as_exit():
        sys.exit(serve(url, level=level, **options))


if __name__ == "__main__":
    main(prog_name="bpefleet worker")
