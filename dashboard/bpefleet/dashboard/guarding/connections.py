"""Limits connections to the dashboard: their number, and how long they may send no request.

uvicorn waits for ever for the rest of a request, and accepts any number of connections. Whoever can
reach the port could use up all the files that this process may open, and lock everybody else out.
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
"""Connections that the system accepts before the program looks at the first of them."""

_PATIENCE: Final = 10.0
"""Seconds that a connection may take to send the headers of a request."""

_MOST: Final = 256
_OTHER_FILES: Final = 48
"""Files that this process opens beside connections, for Redis and the page; half are spare."""

_FEWEST: Final = 8


def most_connections() -> int:
    """How many connections may be open, by the system's limit of open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MOST
    return max(_FEWEST, min(_MOST, soft - _OTHER_FILES - BACKLOG))


def most_pages() -> int:
    """How many pages may be open, so that there is room for other requests."""
    return min(MOST_PAGES, most_connections() // 2)


class Connection(H11Protocol):
    """A connection that is closed if it sends no request, sooner if there are too many."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._most = most_connections()
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept it. If there are too many, close an idle one or, if there is none, this one."""
        super().connection_made(transport)
        self._await_request()
        if len(self.connections) > self._most:
            others = (each for each in self.connections if each is not self)
            idle = [each for each in others if isinstance(each, Connection) and each.is_idle]
            min(idle, key=Connection.deadline, default=self).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection was closed."""
        self._await_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request arrived."""
        super().data_received(data)
        if not self.is_idle:
            self._await_nothing()

    def on_response_complete(self) -> None:
        """The answer is sent. Another request may follow, or may have arrived already."""
        super().on_response_complete()
        if self.is_idle:
            self._await_request()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def deadline(self) -> float:
        """When it is closed if it stays idle, by the loop's clock."""
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
