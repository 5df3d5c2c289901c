"""Connections to Redis that wait while it is away, and a first check that fails fast.

A worker or an aggregator that runs for days must survive a Redis restart; a mistyped URL must be
reported within seconds. So `check` tries once, and the connections made afterwards wait for as long
as it takes, trying every two seconds. Meanwhile `ping` reports the outage.
"""

from __future__ import annotations

import secrets
import threading
from typing import Any, Final, Self, cast

import redis
import redis.asyncio
from redis import exceptions as redis_errors
from redis._parsers import _RESP2Parser
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from bpefleet.shared.errors import QueueError, UsageError
from bpefleet.shared.redis.certificates import check_files
from bpefleet.shared.redis.diagnosis import ANSWERS_WITHIN, diagnosed
from bpefleet.shared.redis.redis_url import is_local, parsed, redacted, scheme, target
from bpefleet.shared.redis.rights import Role, demand_rights
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys

SOCKET_TIMEOUT: Final = 30.0
"""Seconds without an answer after which a connection is lost. A blocking read must be shorter."""

_OLDEST_SERVER: Final = (6, 2)
_FOR_EVER: Final = -1
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


class _Waiting(ExponentialBackoff):
    """Waits between tries, until somebody gives up.

    Attributes:
        over: Set to make whoever waits here fail.
    """

    def __init__(self) -> None:
        super().__init__(cap=2, base=0.1)
        self.over = threading.Event()

    def __deepcopy__(self, _memo: object) -> Self:  # redis-py gives each connection a copy
        return self

    def compute(self, failures: int) -> float:
        if self.over.wait(super().compute(failures)):
            raise redis_errors.RedisError("Redis is away, and nobody waits for it any more")
        return 0.0


class FleetRedis(redis.Redis):
    """A connection that holds the fleet's key: RQ passes the connection on to every job.

    Attributes:
        signer: Signs and checks jobs.
    """

    signer = Signer()
    _waiting: _Waiting

    def give_up(self) -> None:
        """Make every thread that waits for an answer fail now: the answer is no longer needed."""
        self._waiting.over.set()
        self.connection_pool.disconnect()


def connect(url: str, signer: Signer | None = None, *, patient: bool = True) -> FleetRedis:
    """A connection for synchronous use that survives a restart; it connects when first used.

    Args:
        url: The Redis.
        signer: What jobs are signed with.
        patient: Whether to wait for a server that is away; a private one never comes back.

    Raises:
        QueueError: `url` is not a Redis URL.
    """
    waiting = _Waiting()
    retry = Retry(waiting, _FOR_EVER if patient else _FEW_RETRIES)
    connection = cast("FleetRedis", _from_url(FleetRedis, url, retry=retry, **_PATIENT))
    connection.signer = signer or Signer()
    connection._waiting = waiting  # noqa: SLF001  redis-py makes the object
    return connection


def connect_async(url: str, *, patient: bool = True) -> redis.asyncio.Redis:
    """The same for asyncio. Its `XREAD` must block for less than `SOCKET_TIMEOUT`.

    Raises:
        QueueError: `url` is not a Redis URL.
    """
    backoff = ExponentialBackoff(cap=2, base=0.1)
    retry = AsyncRetry(backoff, _FOR_EVER if patient else _FEW_RETRIES)
    client = _from_url(redis.asyncio.Redis, url, retry=retry, **_PATIENT)
    return cast("redis.asyncio.Redis", client)


def connect_once(url: str, within: float) -> redis.Redis:
    """A connection that tries once, and waits so many seconds for an answer.

    Raises:
        QueueError: `url` is not a Redis URL.
    """
    once: dict[str, Any] = {"socket_timeout": within, "retry": Retry(NoBackoff(), 0), "protocol": 2}
    if scheme(url) != "unix":
        once["socket_connect_timeout"] = within
    return cast("redis.Redis", _from_url(redis.Redis, url, **once))


def demand_trust(url: str, signer: Signer, *, insecure: bool) -> None:
    """Make sure that writers to Redis are trusted: by a key, or since it is on this machine.

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


def check(url: str, role: Role | None = None) -> None:
    """Make sure that Redis answers, lets us in, takes writes and is new enough for RQ.

    Args:
        url: The Redis.
        role: The part of the fleet whose rights the user must have; None for writing only.

    Raises:
        QueueError: It does not. The text is one line without the password; it comes within
            seconds.
    """
    check_files(url)
    with connect_once(url, ANSWERS_WITHIN) as connection:
        try:
            connection.ping()
            if role is not None:
                demand_rights(connection, role)
            connection.set(keys.check_key(secrets.token_hex(8)), b"", px=1000)
            version = str(connection.info("server")["redis_version"])
        except (redis_errors.RedisError, OSError, UnicodeError) as error:
            raise diagnosed(url, error) from None
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_SERVER:
        raise QueueError(
            f"Redis {version} at {redacted(url)} is too old",
            hint="version 6.2 or newer is needed (or any Valkey)",
        )


def _from_url(client: Any, url: str, **options: Any) -> Any:
    parsed(url)  # says what is wrong, where redis-py would quote the password
    if scheme(url) == "rediss" and client is not redis.asyncio.Redis:
        # With hiredis, redis-py takes the tickets that TLS 1.3 sends after its handshake for an
        # answer that nobody asked for, and refuses the connection (8.1.0).
        options["parser_class"] = _RESP2Parser
    return client.from_url(target(url), **options)
