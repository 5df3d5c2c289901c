"""Serves the report of a run in a sandbox: anybody who can write to Redis may have written it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError, ResponseError
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from bpefleet.dashboard.view import RUN_NAME
from bpefleet.shared.wire.keys import LARGEST_REPORT, report_key

if TYPE_CHECKING:
    from redis.asyncio import Redis

_PATIENCE: Final = 5.0
_HEADERS: Final = {
    # A document without an origin. It cannot run scripts, load or send anything, or change
    # another window.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-DNS-Prefetch-Control": "off",
}


async def report(redis: Redis, run: str) -> Response:
    """The answer to a request for the report of a run."""
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
    return HTMLResponse(html, headers=_HEADERS)
