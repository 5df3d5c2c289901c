"""Finds out, without redis-py, what listens where a Redis should be."""

from __future__ import annotations

import socket
import ssl
from typing import Any, Final

from bpefleet.shared.errors import QueueError
from bpefleet.shared.process.text import line
from bpefleet.shared.redis.certificates import OWN, load_own
from bpefleet.shared.redis.redis_url import parsed, redacted, scheme

_LOOKS_WITHIN: Final = 1.0
_PING: Final = b"*1\r\n$4\r\nPING\r\n"


def stranger(url: str) -> QueueError | None:
    """What is wrong if the server at a URL is not what the URL says; None if it is.

    Raises:
        QueueError: The URL names a certificate that cannot be used.
    """
    parts = parsed(url)
    where, place = redacted(url), (parts.get("host", "localhost"), parts.get("port", 6379))
    if scheme(url) == "unix" or (plain := _answer(place, None)) is None:
        return None
    if plain:
        return _plain(where, plain, tls=scheme(url) == "rediss")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing secret is sent
    load_own(context, parts)
    secret = _answer(place, context)
    if secret is None:
        return None
    if scheme(url) != "rediss":
        return QueueError(
            f"Redis at {where} closes the connection: it speaks TLS",
            hint="write rediss:// in place of redis://, and ?ssl_ca_certs=ca.pem if an authority "
            "of your own signed its certificate",
        )
    return _other(where, secret) if secret else _unwanted(where, parts)


def _plain(where: str, answer: bytes, *, tls: bool) -> QueueError | None:
    """What is wrong, judged by an answer without TLS."""
    if not answer.startswith((b"+", b"-")):
        return _other(where, answer)
    if not tls:
        return None
    return QueueError(
        f"Redis at {where} speaks no TLS", hint="write redis:// in place of rediss://"
    )


def _other(where: str, answer: bytes) -> QueueError | None:
    """What listens, if it is no Redis."""
    if answer.startswith((b"+", b"-")):
        return None
    what = "HTTP" if answer.startswith((b"HTTP/", b"<")) else line(repr(answer[:30])[1:])
    return QueueError(
        f"what answers at {where} is no Redis: it says {what}", hint="check the port in the URL"
    )


def _unwanted(where: str, parts: dict[str, Any]) -> QueueError:
    """The error for a connection that is closed after the TLS handshake."""
    if parts.get("ssl_certfile"):
        return QueueError(
            f"Redis at {where} does not accept this client's certificate",
            hint="the authority that it trusts (its tls-ca-cert-file) must have signed it, and it "
            "must not have expired",
        )
    return QueueError(
        f"Redis at {where} wants a certificate of this client, and the URL names none",
        hint=f"add {OWN} to the URL's options",
    )


def _answer(place: tuple[str, int], tls: ssl.SSLContext | None) -> bytes | None:
    """The answer to a PING, empty if there is none; None if no connection can be made."""
    try:
        link = socket.create_connection(place, _LOOKS_WITHIN)
        with link:
            if tls is not None:
                link = tls.wrap_socket(link, server_hostname=place[0])
            try:
                with link:
                    link.sendall(_PING)
                    return link.recv(64)
            except OSError:  # an SSLError is one: a refused certificate is told of only now
                return b""
    except (OSError, ValueError):
        return None
