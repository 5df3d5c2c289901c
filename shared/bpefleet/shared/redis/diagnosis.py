"""Why a Redis cannot be used, in words for people, each cause with its own remedy.

The error of redis-py is often only the last effect of a cause, such as a connection that a TLS
server closed because it was not TLS. So `listening` then looks at what answers there.
"""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

from redis import exceptions as redis_errors

from bpefleet.shared.errors import QueueError
from bpefleet.shared.process.text import line
from bpefleet.shared.redis.certificates import distrusted
from bpefleet.shared.redis.listening import stranger
from bpefleet.shared.redis.redis_url import redacted

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWERS_WITHIN: Final = 5.0
"""Seconds that the first answer may take."""

_USER: Final = "redis://user:password@host:6379/0"
_ALONE: Final = "a password without a user is redis://:password@host, with the colon"
_SILENT: Final = ("Redis at {where} does not answer", "check host, port and firewall")
_FAILURES: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (socket.gaierror, "cannot reach Redis at {where}: there is no such host",
     "check the host's name in the URL"),
    (PermissionError, "cannot reach Redis at {where}: this user may not use the socket",
     "see to the socket's mode and group (unixsocketperm)"),
    (redis_errors.TimeoutError, *_SILENT),
    (TimeoutError, *_SILENT),
)  # fmt: skip
"""What is wrong if there is no reply at all."""

_ENDS: Final = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    redis_errors.InvalidResponse,
    OSError,
)
"""The errors that show that the server and redis-py do not understand each other."""

_REPLIES: Final = (
    ("WRONGPASS", "does not accept the user or password",
     f"look at both in the URL: {_USER}; {_ALONE}"),
    ("NOAUTH", "does not accept us without a password",
     f"put it into the URL: {_USER}; {_ALONE}"),
    ("NOPERM", "denies this user what is needed: {error}",
     "`bpefleet acl` prints a user for each part of the fleet, with the rights that it needs"),
    ("READONLY", "is a read-only replica", "give the primary's URL"),
    ("OOM", "is full (maxmemory)", "raise it, or remove keys"),
    ("MISCONF", "takes no writes, since it cannot save: {error}", "look at its disk and its log"),
    ("LOADING", "is still loading its data", "try again soon"),
    ("MOVED", "is part of a cluster", "give a server that stands alone, or one with replicas"),
    ("DENIED", "takes connections from its own machine only (protected mode)",
     "give it a password, or users by `bpefleet acl`, and say in its configuration where to bind"),
    ("MAXCLIENTS", "has no room for another connection", "raise its maxclients"),
    ("DB index", "has no database of that number", "end the URL with /0"),
    ("unknown command", "lacks a command, as a Sentinel does: {error}", "give the server's URL"),
)  # fmt: skip
"""Texts in an error reply, and their meaning. Replies whose code redis-py drops are known by their
class, see `_code`."""


def explained(url: str, error: BaseException) -> QueueError:
    """What an error of redis-py means, as far as the error itself shows. Connects to nothing."""
    where, said = redacted(url), line(str(error)).rstrip(".")
    for code, text, hint in _REPLIES:
        if code in _code(error):
            return QueueError(f"Redis at {where} {text.format(error=said)}", hint=hint)
    if isinstance(error, redis_errors.ResponseError):
        return QueueError(f"Redis at {where} refuses to work: {said}")
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return distrusted(where, cause)
        for kind, text, hint in _FAILURES:
            if isinstance(cause, kind):
                return QueueError(text.format(where=where), hint=hint)
    return QueueError(f"cannot reach Redis at {where}: {said}", hint="is it running there?")


def diagnosed(url: str, error: BaseException) -> QueueError:
    """The same, and if that is not enough, by looking at what listens there."""
    told = explained(url, error)
    ended = isinstance(error, _ENDS) and not any(code in _code(error) for code, _, _ in _REPLIES)
    trusted = not any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error))
    return (stranger(url) if ended and trusted else None) or told


def _code(error: BaseException) -> str:
    """An error's text, with its reply code if redis-py keeps that only as a class."""
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (redis_errors.NoPermissionError, "NOPERM"),
        (redis_errors.ReadOnlyError, "READONLY"),
        (redis_errors.OutOfMemoryError, "OOM"),
        (redis_errors.BusyLoadingError, "LOADING"),
        (redis_errors.MovedError, "MOVED"),
        (redis_errors.MaxConnectionsError, "MAXCLIENTS"),
    )
    for kind, code in kinds:
        if isinstance(error, kind):
            return code
    if isinstance(error, redis_errors.AuthenticationError):
        unasked = "uthentication required" in str(error)
        return "NOAUTH" if unasked else "WRONGPASS"
    if isinstance(error, redis_errors.ConnectionError) and "max number of clients" in str(error):
        return "MAXCLIENTS"
    return str(error) if isinstance(error, redis_errors.ResponseError) else ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
