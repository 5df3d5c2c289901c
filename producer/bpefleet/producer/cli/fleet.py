"""The commands about keys, Redis users and the queue: keygen, acl, rq-dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from bpefleet.producer.cli.options import EXIT_CODES
from bpefleet.shared.process.command import port_option, redis_option
from bpefleet.shared.process.text import printable


@click.command(epilog=EXIT_CODES)
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def keygen(file: Path) -> None:
    """Make a key that producers and workers share, in a new FILE that only you can read.

    Copy it to each machine and give it to `bpefleet train` and `bpefleet worker` with --key-file.
    """
    from bpefleet.shared.trust.signing import make_key  # noqa: PLC0415  --help stays quick

    make_key(file)
    click.echo(f"{printable(str(file))}: keep it secret; whoever has it can have any file counted")


@click.command(epilog=EXIT_CODES)
def acl() -> None:
    """Print Redis users with the least rights for producer, worker and dashboard.

    Save it where the server's `aclfile` points; the passwords are new and random. The default user
    is switched off: add one for yourself.
    """
    from bpefleet.producer.fleet.redis_users import acl_file  # noqa: PLC0415  --help stays quick

    click.echo(acl_file(), nl=False)


@click.command(name="rq-dashboard", epilog=EXIT_CODES)
@redis_option(text="The Redis to show.", required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@port_option(9181)
def rq_dashboard(*, redis: str, host: str, port: int) -> None:
    """Look at the queue with rq-dashboard: jobs, workers, results. It changes nothing.

    Needs pip install 'bpefleet[rq-dashboard]'.
    """
    from bpefleet.producer.fleet.rq_dashboard import serve  # noqa: PLC0415  --help stays quick

    serve(redis, host, port)


COMMANDS: Final = (keygen, acl, rq_dashboard)
