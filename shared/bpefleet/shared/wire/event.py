"""A run's completion events as they lie in Redis: written by workers, read by the aggregator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.shared.wire.messages import Counted, Failed, MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.shared.trust.signing import Signer

COUNTED: Final = "counted"
FAILED: Final = "failed"
_CONTEXT: Final = "event"
_MOST: Final = 1 << 20
"""Bytes of an event: a traceback's last lines are a few thousand."""


@dataclass(frozen=True, slots=True)
class Event:
    """An attempt at a chunk ended.

    Attributes:
        id: The entry's id in the stream.
        chunk: Index of the chunk.
        attempt: Which attempt at it (see `jobs.FleetJob.attempt`).
        body: How it ended.
    """

    id: str
    chunk: int
    attempt: str
    body: Counted | Failed


def event_fields(
    signer: Signer, run: str, chunk: int, attempt: str, end: Counted | Failed
) -> dict[str, int | str | bytes]:
    """The fields of the stream entry that tells of an end, signed."""
    outcome = COUNTED if isinstance(end, Counted) else FAILED
    body = orjson.dumps(end)
    return {
        "chunk": chunk,
        "attempt": attempt,
        "outcome": outcome,
        "body": body,
        "signature": signer.sign(_CONTEXT, *_signed(run, chunk, attempt, outcome, body)),
    }


def read_event(
    signer: Signer, run: str, chunks: int, entry: bytes, fields: Mapping[bytes, bytes]
) -> Event:
    """Read a stream entry of a run with so many chunks; its signature first.

    Raises:
        MessageError: It is not what a worker of this fleet wrote for this run.
    """
    name = f"event {entry.decode('ascii', 'replace')}"
    try:
        chunk, outcome = int(fields[b"chunk"]), fields[b"outcome"].decode("ascii")
        attempt = fields[b"attempt"].decode("ascii")
        body, signature = fields[b"body"], fields.get(b"signature", b"")
    except (KeyError, ValueError) as error:
        # Not the error's own text, which may quote all of a field.
        raise MessageError(f"{name}: a field is missing or malformed") from error
    if not signer.accepts(signature, _CONTEXT, *_signed(run, chunk, attempt, outcome, body)):
        raise MessageError(f"{name}: it is not signed with the fleet's key")
    if not 0 <= chunk < chunks:
        raise MessageError(f"{name}: no chunk {chunk}")
    if len(body) > _MOST:
        raise MessageError(f"{name}: it is larger than {_MOST} bytes")
    return Event(entry.decode("ascii", "replace"), chunk, attempt, _end(name, outcome, body))


def _end(name: str, outcome: str, body: bytes) -> Counted | Failed:
    try:
        data: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MessageError(f"{name}: {error}") from error
    if outcome == COUNTED:
        return Counted.from_json(data)
    if outcome == FAILED:
        return Failed.from_json(data)
    raise MessageError(f"{name}: no such outcome")


def _signed(run: str, chunk: int, attempt: str, outcome: str, body: bytes) -> tuple[bytes, ...]:
    return run.encode(), str(chunk).encode(), attempt.encode(), outcome.encode(), body
