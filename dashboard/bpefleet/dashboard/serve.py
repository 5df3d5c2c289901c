"""Serves the dashboard, from the first checks to the exit."""

from __future__ import annotations

import errno
import logging
import secrets
import signal
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import uvicorn

from bpefleet.dashboard.app import Dashboard
from bpefleet.dashboard.guarding.access import Access
from bpefleet.dashboard.guarding.connections import BACKLOG, Connection
from bpefleet.shared.errors import UsageError
from bpefleet.shared.process.logs import configure
from bpefleet.shared.process.text import printable
from bpefleet.shared.redis.connect import check, connect_async
from bpefleet.shared.redis.redis_url import redacted
from bpefleet.shared.redis.rights import Role
from bpefleet.shared.trust.signing import read_key

_SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command was given.

    Attributes:
        redis: The Redis whose runs are shown.
        host: The address to listen on.
        port: The port; 0 for a free one.
        names: Further host names that are allowed.
        key_file: File with the fleet's key.
        token_file: File with the token; None for a new random one.
        beside: If a run started this dashboard: the form of its log, as in `logs`. Then only that
            run gets the address, and another port is used if the port is taken.
    """

    redis: str
    host: str
    port: int
    names: tuple[str, ...]
    key_file: Path | None
    token_file: Path | None
    beside: str | None = None


def serve(settings: Settings) -> None:
    """Serve until a signal ends it.

    Raises:
        UsageError: A file cannot be used, or the address cannot be listened on.
        QueueError: Redis cannot be reached or used.
    """
    signer = read_key(settings.key_file)
    token = _read_token(settings.token_file) if settings.token_file else secrets.token_urlsafe(24)
    access = Access(token, settings.host, frozenset(name.lower() for name in settings.names))
    check(settings.redis, Role.DASHBOARD)
    listener = _listen(settings)
    _log_to_stderr(settings.beside)
    redis = connect_async(settings.redis)
    dashboard = Dashboard(redis, signer, access, closing=lambda: server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            dashboard.app(),
            http=Connection,
            backlog=BACKLOG,
            access_log=False,  # it would hold the token
            log_config=None,
            server_header=False,
            # A request's peer is who sent it, whatever its headers say.
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
    )
    _announce(settings, access, listener, token)

    def stop(*_: object) -> None:
        server.should_exit = True

    # Uvicorn raises again the signals that it took, and has not taken those of this moment.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with listener:
        server.run(sockets=[listener])


def _announce(settings: Settings, access: Access, listener: socket.socket, token: str) -> None:
    host, port = listener.getsockname()[:2]
    where = f"[{host}]" if ":" in host else host
    page = f"http://{where}:{port}/?token="
    # What is in a file, readable by few, is not for a log that many read.
    kept = settings.token_file and not settings.beside
    address = f"{page} and what is in {settings.token_file}" if kept else f"{page}{token}"
    if settings.beside:
        click.echo(address)
        return
    click.echo(f"the runs of {printable(redacted(settings.redis))}", err=True)
    click.echo(f"open {printable(address)}", err=True)
    click.echo(
        "without the token: look only"
        if access.is_private
        else "without the token: nothing; nothing here is encrypted, put TLS before it",
        err=True,
    )


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        try:
            return socket.create_server((host, port), family=family, backlog=128)
        except OSError as error:
            if not settings.beside or error.errno != errno.EADDRINUSE:
                raise
            return socket.create_server((host, 0), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"{host} port {port} cannot be listened on: {error}", hint="choose another --port"
        ) from error


def _read_token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            token = file.read(1024).strip().decode("ascii")
        shared = path.stat().st_mode & stat.S_IRWXO
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file {path} cannot be read: {error}") from error
    if shared:
        raise UsageError(f"the token file {path} can be read by all", hint=f"chmod 640 {path}")
    if len(token) < _SHORTEST_TOKEN or not token.replace("-", "").replace("_", "").isalnum():
        raise UsageError(
            f"the token file {path} holds no token: {_SHORTEST_TOKEN} or more letters, digits, "
            "- and _ are expected"
        )
    return token


def _log_to_stderr(form: str | None) -> None:
    if form is None:
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s: %(message)s")
    else:
        configure(logging.WARNING, form)
    logging.getLogger("bpefleet").setLevel(logging.INFO)
