"""The web application: pages and their events, requests to runs, metrics, health."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from bpefleet.dashboard.actions import LARGEST_BODY, Refusals, RefusedError, ask, audit, read_wish
from bpefleet.dashboard.guarding.connections import most_pages
from bpefleet.dashboard.guarding.guard import Guard
from bpefleet.dashboard.metrics import exposition
from bpefleet.dashboard.reading.found import Asked
from bpefleet.dashboard.reading.poller import WORKERS, Poller
from bpefleet.dashboard.report import frame, report
from bpefleet.dashboard.stream import events
from bpefleet.shared.plots import FILES
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.request import CANCEL, RETRY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from redis.asyncio import Redis
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from bpefleet.dashboard.actions import Wish
    from bpefleet.dashboard.guarding.access import Access
    from bpefleet.shared.trust.signing import Signer

_STATIC: Final = Path(__file__).parent / "static"
_PATIENCE: Final = 5.0
_TOKEN_NEEDED: Final = "this takes the token that `bpefleet dashboard` printed"  # noqa: S105  a text


class _Page(StreamingResponse):
    """The events of a page, which counts as open until they end."""

    def __init__(self, content: AsyncIterator[bytes], pages: set[object]) -> None:
        super().__init__(content, media_type="text/event-stream")
        self._pages = pages
        pages.add(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pages.discard(self)


class Dashboard:
    """Answers requests."""

    def __init__(
        self, redis: Redis, signer: Signer, access: Access, *, closing: Callable[[], bool]
    ) -> None:
        """Prepare to answer.

        Args:
            redis: The Redis with the runs.
            signer: Signs requests to producers.
            access: Who may read and act.
            closing: Returns whether the server is about to end.
        """
        self._redis = redis
        self._signer = signer
        self._access = access
        self._closing = closing
        self._poller = Poller(redis)
        self._refusals = Refusals()
        self._pages: set[object] = set()
        self._most_pages = most_pages()

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/runs/{run}", self._page),
                Route("/workers", self._page),
                Route("/events", self._events),
                Route("/workers/events", self._worker_events),
                Route("/runs/{run}/events", self._events),
                Route("/runs/{run}/report", self._frame),
                Route("/runs/{run}/report/content", self._report),
                Route("/runs/{run}/{action}", self._act, methods=["POST"]),
                Route("/metrics", self._metrics),
                Route("/healthz", self._healthz),
                Mount("/static/plots", StaticFiles(directory=FILES)),
                Mount("/static", StaticFiles(directory=_STATIC)),
            ],
            middleware=[Middleware(Guard, access=self._access)],
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(self._poller.follow())
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    async def _page(self, _request: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def _events(self, request: Request) -> Response:
        if not self._access.may_read(request.headers):
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        return self._stream(request, request.path_params.get("run", ""))

    async def _worker_events(self, request: Request) -> Response:
        if not self._access.may_read(request.headers):
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        return self._stream(request, WORKERS)

    def _stream(self, request: Request, what: str) -> Response:
        if len(self._pages) >= self._most_pages:
            return PlainTextResponse("too many pages are open", 503)
        may_act, ticket = self._access.may_act(request.headers), self._access.ticket(what)
        content = events(
            self._poller,
            what,
            may_act=may_act,
            ticket=ticket,
            asked=Asked.by(request.query_params),
            closing=self._closing,
        )
        return _Page(content, self._pages)

    async def _frame(self, request: Request) -> Response:
        if not self._may_read_report(request):
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        return frame(request.path_params["run"], request.url.query)

    async def _report(self, request: Request) -> Response:
        if not self._may_read_report(request):
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        framed = request.headers.get("sec-fetch-dest") == "iframe"
        return await report(self._redis, request.path_params["run"], framed=framed)

    def _may_read_report(self, request: Request) -> bool:
        run, ticket = request.path_params["run"], request.query_params.get("ticket", "")
        return self._access.may_read_report(request.headers, run, ticket)

    async def _act(self, request: Request) -> Response:
        run, action = request.path_params["run"], request.path_params["action"]
        by = f"the page at {request.client.host if request.client else 'a socket'}"
        if not self._access.may_act(request.headers):
            self._refusals.audit(by, f"{action} {run}")
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        if action not in (RETRY, CANCEL):
            return PlainTextResponse("there is no such request", 404)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("send application/json", 415)
        try:
            return await self._ask(run, action, read_wish(await _body(request)), by)
        except MessageError as error:
            return PlainTextResponse(str(error), 400)

    async def _ask(self, run: str, action: str, wish: Wish, by: str) -> Response:
        await self._poller.look(())
        view = self._poller.views.get(run)
        if view is None:
            return PlainTextResponse("there is no such run", 404)
        try:
            async with asyncio.timeout(_PATIENCE):
                done = await ask(
                    self._redis, self._signer, view.snapshot, action, wish.chunks, by=by
                )
        except RefusedError as error:
            audit(by, f"{action} {run}", f"refused, {error}")
            return PlainTextResponse(str(error), 409)
        except (RedisError, TimeoutError):
            return PlainTextResponse("Redis does not answer", 503)
        return JSONResponse({"done": done}, 202)

    async def _metrics(self, request: Request) -> Response:
        if not self._access.may_read(request.headers):
            return PlainTextResponse(_TOKEN_NEEDED, 401)
        await self._poller.look_at_all()
        text, content_type = exposition(self._poller, request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    async def _healthz(self, _request: Request) -> Response:
        await self._poller.look_at_all()
        problem = self._poller.problem
        return PlainTextResponse(problem or "ok", 503 if problem else 200)


async def _body(request: Request) -> bytes:
    """A request's body.

    Raises:
        MessageError: It is too large, or does not arrive in time.
    """
    body = b""
    try:
        async with asyncio.timeout(_PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_BODY:
                    raise MessageError("too large")
    except TimeoutError:
        raise MessageError("it took too long") from None
    return body
