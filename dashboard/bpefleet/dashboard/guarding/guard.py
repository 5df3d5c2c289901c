"""Middleware before everything else: refuses other hosts and origins, and sets strict headers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bpefleet.dashboard.guarding.access import Access

logger = logging.getLogger(__name__)

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    # The address that the page is opened by holds the token.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OWN_SITE: Final = ("same-origin", "none")
_LONGEST_NAME: Final = 100
"""The most characters of a host or an origin that are logged."""


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._refused = RepeatedWarnings(logger, "requests were refused")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["method"])
        await (refusal or self._app)(scope, receive, strictly)

    def _refusal(self, headers: Headers, method: str) -> PlainTextResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(headers.getlist("host")) != 1 or not self._access.knows_host(host):
            return self._refuse("this host is not served; see --allow-host", host, 421)
        if origin is not None and not self._access.knows_origin(origin, host):
            return self._refuse("requests of other origins are refused", origin, 403)
        site = headers.get("sec-fetch-site", "none")
        if method == "POST" and site not in _OWN_SITE:
            return self._refuse("requests of other sites are refused", site, 403)
        return None

    def _refuse(self, why: str, name: str, code: int) -> PlainTextResponse:
        self._refused.tell(f"a request was refused: {why}: {line(name)[:_LONGEST_NAME]!r}")
        return PlainTextResponse(f"{why}\n", code)
