"""What a job must be to be loaded from Redis at all: small enough, and signed if there is a key.

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

_CONTEXT: Final = "job"
_KEY_ID: Final = re.compile(rb"[0-9a-f]{8}")
_SIGNED: Final = ("data", "origin", "description", "timeout", "created_at", "enqueued_at")
"""The fields that decide what is counted and how, where, for how long; when it was queued; and
what people are shown of it."""

_LOADED: Final = (
    *_SIGNED,
    "status",
    "worker_name",
    "started_at",
    "ended_at",
    "last_heartbeat",
    "result_ttl",
    "failure_ttl",
)
"""What is loaded of a job. The other fields have RQ call back, repeat, retry, wait for other jobs
or read what it should not, of which a job of ours does nothing."""

_LARGEST: Final = 16 << 20
"""Bytes of a job's data: some thousand segments (`split.MAX_SEGMENTS`), each with a long path."""

_NOTHING: Final = JsonSerializer.dumps(["", None, [], {}])
_STATES: Final = frozenset(status.value.encode() for status in JobStatus)


class RefusedJobError(ValueError):
    """A job is not loaded; the text says why, to follow the job's id."""


class OtherKeyError(RefusedJobError):
    """A job is not loaded, since who queued it has another key, or none."""


def sign_job(signer: Signer, job_id: str, fields: Mapping[str, Any]) -> bytes:
    """The signature of a job with these fields."""
    return signer.sign(_CONTEXT, *_signed(job_id, fields))


def admitted(signer: Signer, job_id: str, fields: Mapping[str, bytes]) -> dict[bytes, bytes]:
    """The fields that RQ may load.

    What RQ would decompress without limit is bounded, and whatever a job of ours does not need
    is left out.

    Raises:
        RefusedJobError: The job is too large, or is not signed with the fleet's key.
    """
    if len(fields.get("data", b"")) > _LARGEST:
        raise RefusedJobError(f"is larger than {_LARGEST} bytes")
    signature = fields.get("signature", b"")
    if not signer.accepts(signature, _CONTEXT, *_signed(job_id, fields)):
        theirs = key_id(fields)
        # A stranger's job need not say anything of keys, and is no mistake with them.
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
    """What is loaded of a refused job: its state, so that RQ can put it aside."""
    loaded = {b"data": _NOTHING, b"origin": keys.QUEUE.encode()}
    if (status := fields.get("status", b"")) in _STATES:
        loaded[b"status"] = status
    return loaded


def _signed(job_id: str, fields: Mapping[str, Any]) -> list[bytes]:
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
        # RQ decompresses once more what it is given, and without limit.
        raise RefusedJobError("is malformed")
    return inflated
