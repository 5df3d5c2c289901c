"""`python -m bpefleet.dashboard`: the command line of the dashboard."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from bpefleet.shared.errors import UsageError
from bpefleet.shared.process import logs
from bpefleet.shared.process.command import (
    error_as_exit,
    from_environment,
    key_file_option,
    parent_option,
    port_option,
    redis_option,
)
from bpefleet.shared.process.die_with_parent import die_with

_EXTRA: Final = ("starlette", "uvicorn", "prometheus_client")


@from_environment
@click.command(
    "dashboard",
    help="Show the runs of a Redis as a page, and as metrics for Prometheus under /metrics.",
    epilog=(
        "The address to open is printed on stderr. It holds a token, new at each start, without "
        "which the page shows runs and changes nothing. On another address than this machine's "
        "own, or with --allow-host, reading takes the token, too: in the page's address, or as "
        "`Authorization: Bearer TOKEN` for Prometheus. There is no TLS here: put a proxy before "
        "it, or use an SSH tunnel. What is asked on the page is logged on stderr."
    ),
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@redis_option(
    text="The Redis whose runs to show. A password is safer in the environment variable.",
    required=True,
)
@port_option(8787)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Listen there."
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A host name that the page may be asked for by, such as a proxy's. Repeat for several.",
)
@key_file_option("The fleet's shared key. A producer that has one follows no request without it.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="BPEFLEET_TOKEN_FILE",
    show_envvar=True,
    help="Take the token from a file instead of a new one at each start.",
)
@click.option(
    "--beside",
    type=click.Choice([logs.HUMAN, logs.JSON]),
    hidden=True,
    help="For a run that logs so: take any port if that one is taken, print the address on stdout.",
)
@parent_option()
def main(*, parent: int | None, **options: Any) -> None:
    """Parse the options and serve."""
    if parent is not None:
        die_with(parent)
    with error_as_exit():
        if missing := [name for name in _EXTRA if find_spec(name) is None]:
            raise UsageError(
                f"the dashboard needs {', '.join(missing)}",
                hint="pip install 'bpefleet[dashboard]'",
            )
        from bpefleet.dashboard.serve import Settings, serve  # noqa: PLC0415  it needs the extra

        serve(Settings(**options))


if __name__ == "__main__":
    main(prog_name="bpefleet dashboard")
