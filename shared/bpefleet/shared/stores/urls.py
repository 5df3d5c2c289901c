"""URLs of what lies in a store: read, checked, and shown without their secrets."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from bpefleet.shared.errors import UsageError

OBJECT_STORES: Final = ("s3", "gs", "az")
WEB: Final = ("http", "https")
NOT_OVER_A_NETWORK: Final = frozenset(
    (
        *("asynclocal", "data", "dir", "file", "generic", "git", "local", "reference"),
        *("blockcache", "cached", "filecache", "simplecache", "libarchive", "tar", "zip"),
    )
)
"""File systems of fsspec that read this machine's own files, or what another URL names."""
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]*)/?(.*)", re.DOTALL)
_QUERY: Final = re.compile(r"\?[\w%.~-]+=")
_CONTROL: Final = re.compile(r"[\0-\x1f\x7f]")
_SAFE: Final = "/!$&'()*+,;=:@~"
_ENVIRONMENT: Final = (
    "each machine has its credentials in its environment; see docs/corpora.md for their names"
)


@dataclass(frozen=True, slots=True)
class Location:
    """What a URL names.

    Attributes:
        scheme: Such as `s3`.
        host: Bucket, container or server; may be empty.
        key: The object's name there, or its beginning; without the escapes of a web URL.
    """

    scheme: str
    host: str
    key: str

    @property
    def url(self) -> str:
        """The URL, in the one form that it has in plans and jobs."""
        key = quote(self.key, safe=_SAFE) if self.scheme in WEB else self.key
        return f"{self.scheme}://{self.host}/{key}"

    def at(self, key: str) -> Location:
        """Another object of the same store."""
        return Location(self.scheme, self.host, key)


def is_url(source: str) -> bool:
    """Whether a source is a URL, and not a path: absolute paths have no two slashes in a row."""
    return "://" in source


def parsed(url: str) -> Location:
    """What a URL names.

    Raises:
        UsageError: It is none that is read; or it holds a password or a query, which may hold a
            key. The text repeats neither.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise UsageError(f"{redacted(url)} is no URL that is read", hint="s3://bucket/name, say")
    scheme, host, key = match.groups()
    if scheme in NOT_OVER_A_NETWORK:
        raise UsageError(f"{scheme}:// is not read", hint="a file of this machine: name its path")
    if not host and scheme in (*OBJECT_STORES, *WEB):
        raise UsageError(f"the URL {redacted(url)} names no bucket or server")
    user, at, _ = host.rpartition("@")
    if at and (":" in user or scheme in (*OBJECT_STORES, *WEB)):
        raise UsageError(
            f"the URL {redacted(url)} holds a user or a password, and plans and logs show URLs",
            hint=_ENVIRONMENT,
        )
    if _QUERY.search(url) or (scheme in WEB and re.search(r"[?#]", url)):
        raise UsageError(
            f"the URL {redacted(url)} has a query, which may hold a key or a signature, and plans "
            "and logs show URLs",
            hint=f"name the object alone; {_ENVIRONMENT}",
        )
    key = unquote(key) if scheme in WEB else key
    names = key.removesuffix("/").split("/") if key else []
    if _CONTROL.search(host + key) or any(name in ("", ".", "..") for name in names):
        raise UsageError(f"the URL {redacted(url)} has an empty part, . or .. in it, or a control")
    if scheme in WEB:
        _demand_public(host)
    return Location(scheme, host.lower() if scheme in WEB else host, key)


def redacted(url: str) -> str:
    """A URL without what may be secret in it: user, password, query."""
    scheme, separator, rest = url.partition("://")
    host, slash, key = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{re.split(r'[?#]', key)[0]}"


def _demand_public(host: str) -> None:
    """Refuse the addresses at which clouds tell a machine its own credentials."""
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    try:
        address: ipaddress.IPv4Address | ipaddress.IPv6Address
        if ":" in name:
            address = ipaddress.ip_address(name)
        else:  # a number, too, is an address
            address = ipaddress.IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return  # a name
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_link_local or not name:
        raise UsageError(f"{name} is an address of this machine's cloud, which is not read")
