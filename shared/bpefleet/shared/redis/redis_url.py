"""Redis URLs: checks them, and shows them without their passwords."""

from __future__ import annotations

import inspect
import ipaddress
import re
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from redis.connection import (
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
    parse_url,
)

from bpefleet.shared.errors import QueueError

_SCHEMES: Final = {
    "redis": "redis",
    "rediss": "rediss",
    "unix": "unix",
    "valkey": "redis",
    "valkeys": "rediss",
    "valkey+unix": "unix",
}
_KINDS: Final = {"redis": Connection, "rediss": SSLConnection, "unix": UnixDomainSocketConnection}
_HINT: Final = (
    "give redis://[user:password@]host:6379/0, rediss://… for TLS, or unix:///path/to/socket; in a "
    "user or password write % / ? # @ : as %25 %2F %3F %23 %40 %3A"
)
_NUMBER: Final = re.compile(r"/?[0-9]*/?")
_OPTION: Final = re.compile(r"[a-z_]{1,40}")


def parsed(url: str) -> dict[str, Any]:
    """What redis-py reads from a URL: host, port, user, password, TLS files and so on.

    Raises:
        QueueError: It is no Redis URL; the text says why, without anything that may be secret.
    """
    if wrong := _wrong(url):
        raise QueueError(f"not a Redis URL: {redacted(url)}: {wrong}", hint=_HINT)
    options: dict[str, Any] = parse_url(target(url))  # type: ignore[no-untyped-call]
    return options


def scheme(url: str) -> str:
    """The scheme of a URL: `redis`, `rediss` or `unix`; empty for any other."""
    name, separator, _ = url.partition("://")
    return _SCHEMES.get(name.lower(), "") if separator else ""


def target(url: str) -> str:
    """A URL as redis-py knows it."""
    return f"{scheme(url)}://{url.partition('://')[2]}"


def is_local(url: str) -> bool:
    """Whether a URL names a server on this machine: a socket, or the loopback interface.

    Raises:
        QueueError: It is no Redis URL at all.
    """
    if scheme(url) == "unix":
        return True
    try:
        # As redis-py reads the URL, so that this is the host that it connects to.
        parts: dict[str, Any] = parse_url(target(url))  # type: ignore[no-untyped-call]
    except ValueError:
        parts = parsed(url)
    host = str(parts.get("host", "localhost"))
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def redacted(url: str) -> str:
    """`url` without its password and without options, which may hold passwords too.

    Of a malformed one only the scheme is shown: the password could be anywhere in it. A user
    without a password is left out as well: it may be a password in the wrong place.
    """
    shown = url.partition("://")[0] + "://" if scheme(url) else ""
    if _wrong_place(url):
        return f"{shown}***"
    parts = urlsplit(target(url))
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _password = login.partition(":")
    who = f"{user}:***" if colon else "***" if login else ""
    return f"{shown}{who}{at}{host}{parts.path}"


def _wrong(url: str) -> str:
    """What is wrong with a URL, in words that quote only the name of an option."""
    return _wrong_place(url) or _wrong_option(url)


def _wrong_place(url: str) -> str:
    """What is wrong with the part of a URL before its options."""
    if not scheme(url):
        return "it begins with none of redis://, rediss:// and unix://"
    try:
        parts = urlsplit(target(url))
        _ = parts.port
    except ValueError:  # its text may quote the password
        return "its port is no number from 0 to 65535, or its brackets do not match"
    if scheme(url) == "unix":
        return "" if parts.path else "it names no path"
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "there is an @ after the host"
    if not _NUMBER.fullmatch(parts.path):
        return "what follows the host is no number of a database"
    return "there is a # in it" if parts.fragment else ""


def _wrong_option(url: str) -> str:
    for name in parse_qs(urlsplit(target(url)).query, keep_blank_values=True):
        if name not in _options(scheme(url)):
            shown = f"{name!r}, " if _OPTION.fullmatch(name) else "one, "
            tls = " without TLS" if name in _options("rediss") else ""
            return f"there is no option {shown}{scheme(url)}:// has none of that name{tls}"
    try:
        parse_url(target(url))  # type: ignore[no-untyped-call]
    except ValueError:
        return "an option has no such value"
    return ""


@cache
def _options(kind: str) -> frozenset[str]:
    """The options that a URL of a scheme may have: those of its connections and their pool."""
    makers: list[Any] = [*_KINDS[kind].__mro__, ConnectionPool]
    return frozenset(
        name for maker in makers for name in inspect.signature(maker.__init__).parameters
    ) - {"self", "args", "kwargs"}
