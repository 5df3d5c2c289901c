"""Who may read and who may act: by the token, and by a request's host and origin.

A page of another site can send requests to a loopback address, and with DNS rebinding it could read
the answers. So a request must name its host by an address or by an allowed name, must not come from
another origin, and needs the token to change anything. If other machines can reach the page,
reading needs the token as well.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one dashboard.

    Attributes:
        token: Lets its bearer act.
        bind: The address that is listened on.
        names: The allowed host names, beside `localhost`.
    """

    token: str = field(repr=False)
    bind: str
    names: frozenset[str] = frozenset()

    def ticket(self, run: str) -> str:
        """A ticket that allows reading the report of a run, and nothing else; empty if anyone may.

        A link cannot send a header, and the token itself must not be in addresses.
        """
        if self.is_private:
            return ""
        return hmac.new(self.token.encode(), f"report {run}".encode(), "sha256").hexdigest()

    def may_read_report(self, headers: Mapping[str, str], run: str, ticket: str) -> bool:
        """Whether a request may see the report of a run."""
        if self.may_read(headers):
            return True
        return hmac.compare_digest(ticket.encode(), self.ticket(run).encode())

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach the page."""
        return _is_loopback(self.bind) and not self.names

    def may_act(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries the token."""
        given = headers.get("authorization", "")
        if given[: len(_BEARER)].lower() != _BEARER:
            return False
        return hmac.compare_digest(given[len(_BEARER) :].strip().encode(), self.token.encode())

    def may_read(self, headers: Mapping[str, str]) -> bool:
        """Whether a request may see runs."""
        return self.is_private or self.may_act(headers)

    def knows_host(self, host: str) -> bool:
        """Whether the value of a `Host` header is allowed, whatever its port."""
        name = _hostname(f"//{host}")
        if name == "localhost" or name in self.names:
            return True
        return _is_loopback(name) if _is_loopback(self.bind) else _is_address(name)

    @staticmethod
    def knows_origin(origin: str, host: str) -> bool:
        """Whether the value of an `Origin` header is a page of that host."""
        return origin in (f"http://{host}", f"https://{host}")


def _hostname(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.netloc and "@" not in parts.netloc else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)
