"""Whether the workers of this host live: exit code 0 if Redis has signs of life of at least one.

A worker's name begins with its host's, and what Redis holds of it expires without such signs.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import Any, Final

import redis

TIMEOUT: Final = 4.0


def main() -> int:
    """Ask the Redis that the workers serve; the exit code."""
    own = f"rq:worker:{socket.gethostname()}-"
    url = os.environ["BPEFLEET_REDIS"]
    with redis.Redis.from_url(url, decode_responses=True, socket_timeout=TIMEOUT) as connection:
        registered: Any = connection.smembers("rq:workers")
        return 0 if any(connection.exists(n) for n in registered if n.startswith(own)) else 1


if __name__ == "__main__":
    sys.exit(main())
