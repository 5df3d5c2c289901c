"""Decides which jobs are loaded from Redis at all: small ones, and signed ones if there is a key.

Checked on the raw fields, before anything is decompressed, decoded or parsed.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any, Final

from rq.job import JobStatus

from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire import keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.shared.trust.signing import Signer

CONTEXT: Final = "job"
"""What kind of message a job is, where it is signed."""
_KEY_ID: Final = re.compile(rb"[0-9a-f]{8}")
_SIGNED: Final = ("data", "origin", "description", "timeout", "created_at", "enqueued_at")
"""The fields that decide what is counted, how, where and for how long, when the job was queued, and
what people are shown of it."""

_LOADED: Final = (
    *_SIGNED,
    "status",
    "worker_name",
    "started_at",
    "ended_at",
    "last_heartbeat",
    "failure_ttl",
)
"""The fields of a job that are loaded. The others make RQ call back, repeat, retry, wait for other
jobs or read what it should not; the fleet's jobs do none of that."""

_LARGEST: Final = 16 << 20
"""The most bytes of a job's data: thousands of segments (`split.MAX_SEGMENTS`) with long paths."""

_NOTHING: Final = JsonSerializer.dumps(["", None, [], {}])
_STATES: Final = frozenset(status.value.encode() for status in JobStatus)


class RefusedJobError(ValueError):
    """A job is not loaded; the text says why, to follow the job's id."""


class OtherKeyError(RefusedJobError):
    """A job is not loaded, since it was queued with another key, or without one."""


def admitted(signer: Signer, job_id: str, fields: Mapping[str, bytes]) -> dict[bytes, bytes]:
    """The fields that RQ may load.

    The size of decompressed data is limited, which RQ does not do, and fields that the fleet's jobs
    do not need are left out.

    Raises:
        RefusedJobError: The job is too large, or is not signed with the fleet's key.
    """
    if len(fields.get("data", b"")) > _LARGEST:
        raise RefusedJobError(f"is larger than {_LARGEST} bytes")
    signature = fields.get("signature", b"")
    if not signer.accepts(signature, CONTEXT, *signed(job_id, fields)):
        theirs = key_id(fields)
        # A stranger's job names no key, and is no sign of a mistake with keys.
        if keys.KEY_FIELD in fields and theirs != signer.key_id:
            how = f"is signed with key {theirs}" if theirs else "is not signed"
            raise OtherKeyError(f"{how}, and this side has key {signer.key_id}")
        how = "is not signed with the fleet's key" if signature else "is not signed"
        raise RefusedJobError(how)
    loaded = {name.encode(): fields[name] for name in _LOADED if name in fields}
    if "data" in fields:
        loaded[b"data"] = _inflated(fields["data"])
    return loaded


def key_id(fields: Mapping[str, bytes]) -> str:
    """The id of the key that a job says it is signed with; empty if it says none."""
    found = fields.get(keys.KEY_FIELD, b"")
    return found.decode() if _KEY_ID.fullmatch(found) else ""


def harmless(fields: Mapping[str, bytes]) -> dict[bytes, bytes]:
    """The fields of a refused job that are loaded: its state, so that RQ can record its failure."""
    loaded = {b"data": _NOTHING, b"origin": keys.QUEUE.encode()}
    if (status := fields.get("status", b"")) in _STATES:
        loaded[b"status"] = status
    return loaded


def signed(job_id: str, fields: Mapping[str, Any]) -> list[bytes]:
    """What is signed of a job with these fields."""
    values = (fields.get(name, b"") for name in _SIGNED)
    return [job_id.encode(), *(v if isinstance(v, bytes) else str(v).encode() for v in values)]


def _inflated(data: bytes) -> bytes:
    """A job's data decompressed, up to a limit; as it is if it is not compressed."""
    reader = zlib.decompressobj()
    try:
        inflated = reader.decompress(data, _LARGEST)
    except zlib.error:
        return data
    if reader.unconsumed_tail:
        raise RefusedJobError(f"is larger than {_LARGEST} bytes when decompressed")
    if not inflated.startswith(b"["):
        # RQ would decompress again what it is given, without limit.
        raise RefusedJobError("is malformed")
    return inflated
