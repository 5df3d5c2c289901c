"""rq-dashboard, made fit to look at our queue with.

As it comes, version 0.9.0 rewrites jobs as pickle, listens on every interface, lets any web page
that its user visits requeue jobs, and puts text from jobs into its pages as markup: a job's
description, arguments and traceback. Here it only shows. JSON is the serializer of the whole
process; requests that would change something are refused, and so are those that name another
host; and what it serves to its own scripts can no longer act as markup.
"""

from __future__ import annotations

import html
import json
import logging
import signal
from typing import TYPE_CHECKING, Any, Final

import click

from bpefleet.shared.errors import UsageError
from bpefleet.shared.queue.serializer import install
from bpefleet.shared.redis.connect import check, connect
from bpefleet.shared.redis.redis_url import is_local, redacted

if TYPE_CHECKING:
    from flask import Flask, Response

_PREFIX: Final = "rq_dashboard."
SHOWS: Final = frozenset(
    {
        "static",
        _PREFIX + "favicon",
        _PREFIX + "job_info",
        _PREFIX + "job_view",
        _PREFIX + "jobs_overview",
        _PREFIX + "list_jobs",
        _PREFIX + "list_queues",
        _PREFIX + "list_workers",
        _PREFIX + "queues_overview",
        _PREFIX + "workers_overview",
    }
)
"""The endpoints that only show; all others are refused, those of later versions included."""

_WARNING: Final = (
    "warning: rq-dashboard is not ours and has a known stored XSS; text from jobs is escaped here, "
    "and buttons are refused. Show it to nobody else. bpefleet retry and cancel act on runs."
)


def serve(url: str, host: str, port: int) -> None:
    """Serve rq-dashboard until stopped by Ctrl-C or SIGTERM.

    Args:
        url: The Redis to show.
        host: A loopback address: rq-dashboard has no login.
        port: 0 for any that is free; the one taken is printed.

    Raises:
        UsageError: The host is no loopback address, the port is taken, or rq-dashboard is not
            installed.
        QueueError: Redis cannot be reached.
    """
    if not host or not is_local(f"redis://{_bracketed(host)}"):
        raise UsageError(
            f"rq-dashboard has no login and is not served at {host!r}, which others can reach",
            hint="serve it on 127.0.0.1, and reach it from elsewhere through ssh -L",
        )
    application = make_application(url)
    from werkzeug.serving import make_server  # noqa: PLC0415  needs the extra

    check(url)
    try:
        server = make_server(host, port, application, threaded=True)
    except (OSError, SystemExit) as error:  # werkzeug exits when the port is taken
        raise UsageError(f"port {port} of {host} cannot be listened on") from error
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # the pages ask every few seconds
    click.echo(_WARNING, err=True)
    click.echo(f"http://{_bracketed(host)}:{server.port}/", err=True)
    # Directly: a shell's background job ignores SIGINT, which the command makes of SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.serve_forever()  # returns at KeyboardInterrupt
    finally:
        server.server_close()


def make_application(url: str) -> Flask:
    """The WSGI application that shows the queues of a Redis.

    Raises:
        UsageError: rq-dashboard is not installed.
    """
    install()  # before the import, which keeps the default serializer of that moment
    try:
        from flask import Flask  # noqa: PLC0415
        from rq_dashboard import default_settings, web  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"rq-dashboard is not installed: {error}", hint="pip install 'bpefleet[rq-dashboard]'"
        ) from error
    connection = connect(url)
    # It connects anew for each request otherwise, and without patience.
    web.from_url = lambda *_args, **_options: (None, connection)
    application = Flask("rq_dashboard")
    application.config.from_object(default_settings)
    application.config["RQ_DASHBOARD_REDIS_URL"] = (redacted(url),)
    application.config["RQ_DASHBOARD_DISABLE_DELETE"] = True
    application.register_blueprint(web.blueprint)
    web.setup_rq_connection(application)
    application.before_request(_refuse)
    application.after_request(_disarm)
    return application


def _refuse() -> tuple[str, int] | None:
    """Refuse what is not a look from this machine: changes, and names of other hosts."""
    from flask import request  # noqa: PLC0415

    # A page elsewhere whose name its owner points at 127.0.0.1 sends that name.
    if not is_local(f"redis://{request.host}"):
        return f"{request.host!r} is not this machine\n", 403
    if request.endpoint is not None and request.endpoint not in SHOWS:
        return "changes are refused here: use bpefleet retry or bpefleet cancel\n", 403
    return None


def _disarm(response: Response) -> Response:
    """Escape the text in answers to the pages' scripts, and forbid what the pages do not need."""
    if response.is_json:
        response.set_data(json.dumps(_escaped(response.get_json())))
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _escaped(value: Any) -> Any:
    """JSON data whose text holds no markup; text that was escaped before stays as it was."""
    if isinstance(value, str):
        return html.escape(html.unescape(value))
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        fields = {_escaped(name): _escaped(each) for name, each in value.items()}
        if "call_string" in fields and "description" in fields:
            # What a worker is at: the chunk in words, rather than the call that counts it.
            fields["call_string"] = fields["description"]
        return fields
    return value


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
