"""Connections to Redis that ride out a restart, and a first check that fails fast.

A worker or an aggregator that runs for days must survive a Redis restart; a mistyped URL must be
said within seconds. So `check` tries once, and the connections made afterwards are patient: about
two minutes of retries, growing to one every two seconds.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any, Final, cast

import redis
import redis.asyncio
from redis import exceptions as redis_errors
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from bpefleet.shared import keys
from bpefleet.shared.errors import QueueError, UsageError
from bpefleet.shared.signing import Signer

SOCKET_TIMEOUT: Final = 30.0
"""Seconds without an answer until a connection counts as lost; a blocking read must be shorter."""

_CHECK_TIMEOUT: Final = 5.0
_OLDEST_SERVER: Final = (6, 2)
_SCHEMES: Final = {
    "redis": "redis",
    "rediss": "rediss",
    "unix": "unix",
    "valkey": "redis",
    "valkeys": "rediss",
    "valkey+unix": "unix",
}
_URL_HINT: Final = (
    "give redis://[user:password@]host:6379/0, rediss://… for TLS, or unix:///path/to/socket"
)


class FleetRedis(redis.Redis):
    """A connection that knows the fleet's key: RQ hands it on to every job.

    Attributes:
        signer: Signs and checks the jobs that pass.
    """

    signer = Signer()


def connect(url: str, signer: Signer | None = None, *, patient: bool = True) -> FleetRedis:
    """A connection for synchronous use that rides out a restart; it connects when first used.

    Args:
        url: Where to.
        signer: What jobs are signed with.
        patient: Whether to wait for a server that is away; a private one never comes back.

    Raises:
        QueueError: `url` is not a Redis URL.
    """
    retry = Retry(_backoff(), _RETRIES if patient else _FEW_RETRIES)
    connection = cast("FleetRedis", _from_url(FleetRedis, url, retry=retry, **_PATIENT))
    connection.signer = signer or Signer()
    return connection


def connect_async(url: str, *, patient: bool = True) -> redis.asyncio.Redis:
    """Likewise for asyncio. Its `XREAD` may block for less than `SOCKET_TIMEOUT`.

    Raises:
        QueueError: `url` is not a Redis URL.
    """
    retry = AsyncRetry(_backoff(), _RETRIES if patient else _FEW_RETRIES)
    client = _from_url(redis.asyncio.Redis, url, retry=retry, **_PATIENT)
    return cast("redis.asyncio.Redis", client)


def demand_trust(url: str, signer: Signer, *, insecure: bool) -> None:
    """Make sure that who may write to Redis is known: by a key, or because it is of this machine.

    Raises:
        UsageError: Redis is reached over the network, and there is no key.
    """
    if signer.key or insecure or is_local(url):
        return
    raise UsageError(
        f"Redis at {redacted(url)} is reached over the network and there is no key: whoever can "
        "write to it could have text counted and counts folded that are not yours",
        hint="make a key with: bpefleet keygen FILE; give it to producers and workers alike with "
        "--key-file FILE; or accept the risk with --insecure",
    )


def is_local(url: str) -> bool:
    """Whether a URL names a server on this machine: a socket, or the loopback interface."""
    if _scheme(url) == "unix":
        return True
    try:
        # The client's own reading of the URL, lest another host be meant than is connected to.
        parts: dict[str, Any] = parse_url(_target(url))  # type: ignore[no-untyped-call]
    except ValueError:
        raise _no_url(url) from None
    host = str(parts.get("host", "localhost"))
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check(url: str) -> None:
    """Make sure that Redis answers, lets us in, takes writes and is new enough for RQ.

    Raises:
        QueueError: It does not, said in one line without the password, within seconds.
    """
    once = {"socket_timeout": _CHECK_TIMEOUT, "retry": Retry(NoBackoff(), 0)}
    if _scheme(url) != "unix":
        once["socket_connect_timeout"] = _CHECK_TIMEOUT
    with _from_url(redis.Redis, url, **once) as connection:
        try:
            connection.ping()
            connection.set(keys.check_key(secrets.token_hex(8)), b"", px=1000)
            version = str(connection.info("server")["redis_version"])
        except (redis_errors.RedisError, OSError, UnicodeError) as error:
            raise _explain(url, error) from None
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_SERVER:
        raise QueueError(
            f"Redis {version} at {redacted(url)} is too old",
            hint="version 6.2 or newer is needed (or any Valkey)",
        )


def redacted(url: str) -> str:
    """`url` without its password and without options, which may hold passwords too."""
    # Not by a URL parser: a malformed URL is what most needs to be shown, and must not leak.
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    if "@" in rest.partition("?")[2]:  # in an option, or a password that is not encoded
        return f"{scheme}{separator}***"
    login, at, place = rest.rpartition("@")
    user, colon, _password = login.partition(":")
    return f"{scheme}{separator}{user}{':***' if colon else ''}{at}{place.partition('?')[0]}"


_EXPLANATIONS: Final[tuple[tuple[tuple[type[Exception], ...], str, str], ...]] = (
    (
        (redis_errors.AuthenticationError, redis_errors.AuthenticationWrongNumberOfArgsError),
        "Redis at {where} does not accept the user or password",
        "put them into the URL: redis://user:password@host:6379/0",
    ),
    (
        (redis_errors.NoPermissionError,),
        "Redis at {where} denies this user what the queue needs: {error}",
        "allow the user the keys rq:* and bpefleet:*",
    ),
    (
        (redis_errors.ReadOnlyError,),
        "Redis at {where} is a read-only replica",
        "give the primary's URL",
    ),
    (
        (redis_errors.OutOfMemoryError,),
        "Redis at {where} is full (maxmemory)",
        "raise it, or remove keys",
    ),
    (
        (redis_errors.BusyLoadingError,),
        "Redis at {where} is still loading its data",
        "try again soon",
    ),
    (
        (redis_errors.TimeoutError, TimeoutError),
        f"Redis at {{where}} does not answer within {_CHECK_TIMEOUT:.0f} s",
        "check host, port and firewall",
    ),
    ((redis_errors.ResponseError,), "Redis at {where} refuses to work: {error}", ""),
)
_RETRIES: Final = 60
_FEW_RETRIES: Final = 3
_PATIENT: Final[dict[str, Any]] = {
    "retry_on_error": [
        redis_errors.ConnectionError,
        redis_errors.TimeoutError,
        redis_errors.BusyLoadingError,
    ],
    "health_check_interval": 15,
    "socket_timeout": SOCKET_TIMEOUT,
    # A work-horse connects anew for each job. This saves it three round trips and the search for
    # redis-py's own version in the installed metadata.
    "protocol": 2,
    "driver_info": None,
}


def _backoff() -> ExponentialBackoff:
    return ExponentialBackoff(cap=2, base=0.1)


def _scheme(url: str) -> str:
    scheme = _SCHEMES.get(url.partition("://")[0].lower())
    if scheme is None or "://" not in url:
        raise _no_url(url)
    return scheme


def _from_url(client: Any, url: str, **options: Any) -> Any:
    try:
        return client.from_url(_target(url), **options)
    except (ValueError, TypeError):  # its text may quote the password
        raise _no_url(url) from None


def _target(url: str) -> str:
    return f"{_scheme(url)}://{url.partition('://')[2]}"


def _no_url(url: str) -> QueueError:
    return QueueError(f"not a Redis URL: {redacted(url)}", hint=_URL_HINT)


def _explain(url: str, error: Exception) -> QueueError:
    for kinds, text, hint in _EXPLANATIONS:
        if isinstance(error, kinds):
            return QueueError(text.format(where=redacted(url), error=error), hint=hint)
    return QueueError(
        f"cannot reach Redis at {redacted(url)}: {error}", hint="is it running there?"
    )
