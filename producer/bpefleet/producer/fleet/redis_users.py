"""Redis users with no more rights than each part of the fleet needs.

Seen with Redis 7 and Valkey 9; `tests/security` runs the whole system under these rules. RQ keeps
its keys under `rq:`; ours are listed in `bpefleet.shared.wire.keys`.
"""

from __future__ import annotations

import secrets
from typing import Final

_RULES: Final = {
    # Queues jobs, reads events, ends abandoned attempts, shows runs and their reports. No worker
    # goes by this name by mistake: that one gives its connection a name.
    "bpefleet-producer": (
        "~rq:* ~bpefleet:* resetchannels +@read +@write +@connection +@transaction +@scripting "
        "+@blocking -@dangerous -client|setname +info"
    ),
    # Takes jobs, leaves payloads and events; sees no run's status or report, makes no requests.
    # Runs no scripts: RQ's are for queueing, which is the producer's.
    "bpefleet-worker": (
        "~rq:* ~bpefleet:payload:* ~bpefleet:events:* ~bpefleet:check:* resetchannels "
        "+@read +@write +@connection +@transaction +@blocking "
        "-@dangerous +info +client|list +client|setname"
    ),
    # Looks, and leaves requests, which are signed.
    "bpefleet-dashboard": (
        "%R~rq:* %R~bpefleet:* ~bpefleet:control:* ~bpefleet:check:* resetchannels +@read "
        "+@connection +@transaction -@dangerous +info +set +rpush +expire"
    ),
}


def acl_file() -> str:
    """The users as an ACL file for Redis, each with a new random password."""
    lines = [f"user {name} on >{secrets.token_urlsafe(24)} {rule}" for name, rule in _RULES.items()]
    return "\n".join([*lines, "user default off", ""])
