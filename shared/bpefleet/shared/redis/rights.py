"""What each part of the fleet must be allowed to do in Redis, tried without doing it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from redis.exceptions import NoPermissionError

from bpefleet.shared.wire import keys, rq_keys

if TYPE_CHECKING:
    from redis import Redis

_RUN: Final = "check"
_JOB: Final = rq_keys.job_key(keys.job_id(_RUN, 0))
_Commands = tuple[tuple[Any, ...], ...]


class Role(Enum):
    """A part of the fleet; `bpefleet acl` prints a user for each."""

    PRODUCER = "bpefleet-producer"
    WORKER = "bpefleet-worker"
    DASHBOARD = "bpefleet-dashboard"


_NEEDS: Final[dict[Role, _Commands]] = {
    Role.PRODUCER: (
        ("HSET", _JOB, rq_keys.STATUS, rq_keys.QUEUED),
        ("RPUSH", rq_keys.WAITING, _JOB),
        ("XREAD", "STREAMS", keys.events_key(_RUN), "0-0"),
        ("UNLINK", keys.payload_prefix(_RUN, 0)),
        ("SET", keys.status_key(_RUN), ""),
        ("LPOP", keys.control_key(_RUN)),
        ("SCAN", "0"),
    ),
    Role.WORKER: (
        ("HSET", rq_keys.worker_key(_RUN), rq_keys.PID, "0"),
        ("LPOP", rq_keys.WAITING),
        ("SET", keys.payload_prefix(_RUN, 0), ""),
        ("XADD", keys.events_key(_RUN), "*", "chunk", "0"),
        ("CLIENT", "SETNAME", "check"),
    ),
    Role.DASHBOARD: (
        ("GETRANGE", keys.status_key(_RUN), "0", "0"),
        ("ZREVRANGE", keys.RUNS, "0", "0"),
        ("LLEN", rq_keys.WAITING),
        ("RPUSH", keys.control_key(_RUN), ""),
    ),
}
"""One command of each kind, and one key of each kind, that a role uses."""


def demand_rights(connection: Redis, role: Role) -> None:
    """Make sure that the connection's user has the rights of a role.

    The commands are queued in a transaction that is discarded: Redis checks a user's rights when a
    command is queued, and runs none of them.

    Raises:
        NoPermissionError: It may not; the text names the command or key.
    """
    pool = connection.connection_pool
    link: Any = pool.get_connection()
    try:
        for command in (("MULTI",), *_NEEDS[role]):
            link.send_command(*command)
            link.read_response()
    except NoPermissionError as error:
        raise NoPermissionError(f"{error} (as a {role.name.lower()} does)") from None
    finally:
        link.disconnect()  # drops the transaction
        pool.release(link)
