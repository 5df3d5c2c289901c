"""The commands about a run that is there: resume, retry, status, profile, report and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from bpefleet.producer import cli_options as options_
from bpefleet.producer.cli_options import EXIT_CODES
from bpefleet.producer.cli_summary import summarize
from bpefleet.shared.command import port_option, redis_option
from bpefleet.shared.text import printable


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@options_.resource_options
def resume(directory: Path, *, as_json: bool, **resources: Any) -> None:
    """Go on with the run in DIR after a crash, an error, a reboot or Ctrl-C.

    What is counted is not counted again. Failed chunks are tried again, too. Another Redis and
    other workers than before may do the work.
    """
    from bpefleet.producer.options import Resources  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.run import resume as resume_  # noqa: PLC0415

    summarize(resume_(directory, Resources(**resources, progress=True)), as_json=as_json)


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
    from bpefleet.producer.options import Resources  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.retry import retry as retry_  # noqa: PLC0415

    resources_ = Resources(**resources, errors=errors or "", progress=True)
    if result := retry_(directory, chunks, resources_):
        summarize(result, as_json=as_json)
    else:
        click.echo(f"the process at {directory} was asked; watch it: bpefleet status {directory}")


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@options_.vocab_size_option
@options_.out_option
@options_.role_options
@options_.tie_break_option
@options_.min_frequency_option
@options_.max_token_length_option
@options_.allow_fewer_option
@options_.export_option
@options_.quiet_option
@options_.log_format_option
@options_.json_option
def merge(directory: Path, *, out: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Train another tokenizer on the counts kept in DIR, without counting again.

    Pattern and special tokens stay: the counts depend on them. What the special tokens are for
    stays, too, where no option says otherwise.
    """
    from bpefleet.producer.merge_again import merge_again  # noqa: PLC0415  --help stays quick

    summarize(merge_again(directory, out, options, quiet=quiet), as_json=as_json)


@click.command(epilog=EXIT_CODES)
@click.argument("run", metavar="DIR|RUN")
@redis_option(text="The Redis that a run named by its id uses.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--watch", is_flag=True, help="Print it again every second until the run ends.")
def status(run: str, *, redis: str | None, as_json: bool, watch: bool) -> None:
    """Show how far a run is: chunks by state, rate, time left, workers, failures.

    A run is named by its directory, or by its id together with --redis.
    """
    from bpefleet.producer.status import show  # noqa: PLC0415  --help stays quick

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
    from bpefleet.producer.status import show_attempts, show_failed  # noqa: PLC0415

    if chunk is None:
        show_failed(directory, as_json=as_json)
    else:
        show_attempts(directory, chunk, as_json=as_json)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with all chunks' times.")
def profile(directory: Path, *, as_json: bool) -> None:
    """Tell where the time of the run in DIR went, and which chunks were slow and why."""
    from bpefleet.producer.profile_text import show_profile  # noqa: PLC0415  --help stays quick

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
    help="Measure on this text: a file, folder or glob that the run was not trained on. Repeat "
    "for several. Without it a part of the run's own text is used.",
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
    from bpefleet.producer.progress import Progress  # noqa: PLC0415  --help stays quick
    from bpefleet.producer.report_write import write_report  # noqa: PLC0415  likewise

    with Progress(show=True) as progress:
        written = write_report(directory, **options, warn=progress.warn)
    for path in written:
        click.echo(path)


@click.command(epilog=EXIT_CODES)
@options_.directory_argument
@redis_option(text="Also take the jobs that a dead producer left off this queue.")
def cancel(directory: Path, *, redis: str | None) -> None:
    """Stop the run in DIR, wherever its process is. What is counted is kept.

    The running chunks are finished first; planning and merging end at once.
    """
    from bpefleet.producer.cancel import cancel as cancel_  # noqa: PLC0415

    click.echo(printable(cancel_(directory, redis)))


@click.command(epilog=EXIT_CODES)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def keygen(file: Path) -> None:
    """Make a key that producers and workers share, in a new FILE that only you can read.

    Copy it to each machine and give it to `bpefleet train` and `bpefleet worker` with --key-file.
    """
    from bpefleet.shared.signing import make_key  # noqa: PLC0415  --help stays quick

    make_key(file)
    click.echo(f"{printable(str(file))}: keep it secret; whoever has it can have any file counted")


@click.command(epilog=EXIT_CODES)
def acl() -> None:
    """Print Redis users with the least rights for producer, worker and dashboard.

    Save it where the server's `aclfile` points; the passwords are new and random. The default user
    is switched off: add one for yourself.
    """
    from bpefleet.producer.acl import acl_file  # noqa: PLC0415  --help stays quick

    click.echo(acl_file(), nl=False)


@click.command(name="rq-dashboard", epilog=EXIT_CODES)
@redis_option(text="The Redis to show.", required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@port_option(9181)
def rq_dashboard(*, redis: str, host: str, port: int) -> None:
    """Look at the queue with rq-dashboard: jobs, workers, results. It changes nothing.

    Needs pip install 'bpefleet[rq-dashboard]'.
    """
    from bpefleet.producer.rq_dashboard import serve  # noqa: PLC0415  --help stays quick

    serve(redis, host, port)


COMMANDS: Final = (
    resume,
    retry,
    merge,
    status,
    failed,
    profile,
    report,
    cancel,
    rq_dashboard,
    keygen,
    acl,
)
