"""A run's completion events as they lie in Redis: written by workers, read by the aggregator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from bpefleet.shared.wire import keys
from bpefleet.shared.wire.kinds import KINDS, Result
from bpefleet.shared.wire.messages import Failed, MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.shared.trust.signing import Signer

FAILED: Final = "failed"
_CONTEXT: Final = "event"
_MOST: Final = 1 << 20
"""Bytes of an event: a traceback's last lines are a few thousand."""


class Event(Struct, frozen=True):
    """An attempt at a chunk ended.

    Attributes:
        id: The entry's id in the stream.
        chunk: Index of the chunk.
        attempt: Which attempt at it (see `jobs.FleetJob.attempt`).
        body: How it ended.
        kind: The name of the kind of job.
    """

    id: str
    chunk: int
    attempt: str
    body: Result | Failed
    kind: str = keys.COUNT

    def payload(self, run: str) -> str:
        """The key of its payload; empty if it names none, or one that is not its chunk's.

        Nobody of ours wrote that: the key may be anything, and is left alone.
        """
        key = "" if isinstance(self.body, Failed) else self.body.key
        return key if key.startswith(keys.payload_prefix(run, self.chunk, self.kind)) else ""


def event_fields(
    signer: Signer,
    run: str,
    chunk: int,
    attempt: str,
    end: Result | Failed,
    kind: str = keys.COUNT,
) -> dict[str, int | str | bytes]:
    """The fields of the stream entry that tells of an end, signed."""
    outcome = FAILED if isinstance(end, Failed) else KINDS[kind].done
    unit = keys.unit(chunk, kind)
    body = end.to_bytes()
    return {
        "chunk": unit,
        "attempt": attempt,
        "outcome": outcome,
        "body": body,
        "signature": signer.sign(_CONTEXT, *_signed(run, unit, attempt, outcome, body)),
    }


def read_event(
    signer: Signer,
    run: str,
    chunks: int,
    entry: bytes,
    fields: Mapping[bytes, bytes],
    others: Mapping[str, int] | None = None,
) -> Event:
    """Read a stream entry of a run with so many chunks; its signature first.

    Args:
        signer: What it must be signed with.
        run: The run's id.
        chunks: How many chunks it has.
        entry: The entry's id.
        fields: What it says.
        others: By kind of job, where it is not done with these chunks: how many there are.

    Raises:
        MessageError: It is not what a worker of this fleet wrote for this run.
    """
    name = f"event {entry.decode('ascii', 'replace')}"
    try:
        unit, outcome = fields[b"chunk"].decode("ascii"), fields[b"outcome"].decode("ascii")
        attempt = fields[b"attempt"].decode("ascii")
        body, signature = fields[b"body"], fields.get(b"signature", b"")
    except (KeyError, ValueError) as error:
        # Not the error's own text, which may quote all of a field.
        raise MessageError(f"{name}: a field is missing or malformed") from error
    if not signer.accepts(signature, _CONTEXT, *_signed(run, unit, attempt, outcome, body)):
        raise MessageError(f"{name}: it is not signed with the fleet's key")
    chunk, kind = keys.chunk_and_kind(unit) or (chunks, "")
    if chunk >= (others or {}).get(kind, chunks) or kind not in KINDS:
        raise MessageError(f"{name}: no such chunk, or kind of job")
    if len(body) > _MOST:
        raise MessageError(f"{name}: it is larger than {_MOST} bytes")
    end = _end(name, kind, outcome, body)
    return Event(entry.decode("ascii", "replace"), chunk, attempt, end, kind)


def _end(name: str, kind: str, outcome: str, body: bytes) -> Result | Failed:
    if outcome not in (KINDS[kind].done, FAILED):
        raise MessageError(f"{name}: no such outcome")
    message: type[Result | Failed] = Failed if outcome == FAILED else KINDS[kind].result
    try:
        return message.from_bytes(body)
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from error


def _signed(run: str, unit: str, attempt: str, outcome: str, body: bytes) -> tuple[bytes, ...]:
    return run.encode(), unit.encode(), attempt.encode(), outcome.encode(), body
