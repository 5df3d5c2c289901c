"""Serves the report of a run, which may be anybody's who can write to Redis, in a sandbox.

The page at the report's address holds a frame, and that the report. It runs the scripts that draw
the charts of this version's reports, by their digests, and nothing else. By itself a document that
may run a script may also go elsewhere: the policy of the page around it keeps it from that. Opened
without that page, the report runs nothing.
"""

from __future__ import annotations

import asyncio
from html import escape
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError, ResponseError
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from bpefleet.dashboard.reading.view import RUN_NAME
from bpefleet.shared.plots import digest, report_scripts
from bpefleet.shared.wire.keys import LARGEST_REPORT, report_key

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PATIENCE: Final = 5.0
# A document of no origin: it loads nothing, sends nothing, moves no window.
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
)
_ALONE: Final = f"{_POLICY}sandbox; frame-ancestors 'none'"
_AROUND: Final = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_FRAME: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Report of run {run}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/report.css">
<iframe title="Report" sandbox="allow-scripts" src="{source}"></iframe>
</html>
"""


def frame(run: str, query: str) -> Response:
    """The page around a report.

    Args:
        run: The run.
        query: That of the page's address: it may hold the ticket for the report.
    """
    if not RUN_NAME.fullmatch(run):
        return PlainTextResponse("there is no report", 404)
    source = f"/runs/{run}/report/content?{query}"
    text = _FRAME.format(run=run, source=escape(source))
    return HTMLResponse(text, headers={"Content-Security-Policy": _AROUND})


async def report(redis: Redis, run: str, *, framed: bool) -> Response:
    """The report of a run; `framed` if the browser says that it is for a frame."""
    html: bytes | str = b""
    if RUN_NAME.fullmatch(run):
        try:
            async with asyncio.timeout(_PATIENCE):
                html = await redis.getrange(report_key(run), 0, LARGEST_REPORT)
        except ResponseError:  # it is no string
            pass
        except (RedisError, TimeoutError):
            return PlainTextResponse("Redis does not answer", 503)
    if not html or len(html) > LARGEST_REPORT:
        return PlainTextResponse("there is no report", 404)
    policy = _framed() if framed else _ALONE
    headers = {"Content-Security-Policy": policy, "X-DNS-Prefetch-Control": "off"}
    return HTMLResponse(html, headers=headers)


def _framed() -> str:
    digests = " ".join(map(digest, report_scripts()))
    return f"{_POLICY}sandbox allow-scripts; script-src {digests}; frame-ancestors 'self'"
