"""Connections to the dashboard: only so many, and none that keeps its request to itself.

uvicorn waits for ever for the rest of a request, and takes as many connections as come. Whoever can
reach the port could so use up all that this process may open, and lock everybody else out.
"""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

MOST_PAGES: Final = 100
"""Pages that may be open: each is a connection that stays."""

BACKLOG: Final = 32
"""Connections that are taken at once, before the first of them is looked at."""

_PATIENCE: Final = 10.0
"""Seconds that a connection may take to send the headers of a request."""

_MOST: Final = 256
_OTHER_FILES: Final = 48
"""What this process opens beside connections: itself, Redis, the page's files; half is to spare."""

_FEWEST: Final = 8


def most_connections() -> int:
    """How many may be open, by what the system lets this process open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST
    return max(_FEWEST, min(_MOST, soft - _OTHER_FILES - BACKLOG))


def most_pages() -> int:
    """How many pages may be open such that there is room for other requests, too."""
    return min(MOST_PAGES, most_connections() // 2)


class Connection(H11Protocol):
    """One that is closed if it asks for nothing, and sooner if there are too many."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._most = most_connections()
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it; if it is one too many, another goes, or, if all are at work, this one."""
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) > self._most:
            others = (each for each in self.connections if each is not self)
            idle = [each for each in others if isinstance(each, Connection) and each.is_idle]
            min(idle, key=Connection.deadline, default=self).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._await_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request came."""
        super().data_received(data)
        if not self.is_idle:
            self._await_nothing()

    def on_response_complete(self) -> None:
        """The answer is sent; another request may follow, or be there already."""
        super().on_response_complete()
        if self.is_idle:
            self._await_request()

    @property
    def is_idle(self) -> bool:
        """Whether it asks for nothing now."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def deadline(self) -> float:
        """When it is closed if it goes on to ask for nothing, by the loop's clock."""
        return self._deadline.when() if self._deadline else 0.0

    def drop(self) -> None:
        """Close it at once."""
        self.connections.discard(self)
        self.transport.abort()

    def _await_request(self) -> None:
        self._await_nothing()
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(_PATIENCE, self.drop)

    def _await_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
