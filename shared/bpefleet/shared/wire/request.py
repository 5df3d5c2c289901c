"""What an onlooker asks of a run: count failed chunks again, or stop. Signed if there is a key."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Final

from bpefleet.shared.wire.messages import Int, Message, MessageError

if TYPE_CHECKING:
    from bpefleet.shared.trust.signing import Signer

RETRY: Final = "retry"
CANCEL: Final = "cancel"
_CONTEXT: Final = "request"
LARGEST: Final = 1 << 20
"""Bytes of a request: one that names a hundred thousand chunks."""
_STALE_AFTER: Final = 600.0
"""Seconds after which a request is not followed: so late it is no longer what was meant."""


class Request(Message, frozen=True):
    """A request to the producer of a run.

    Attributes:
        action: `retry` or `cancel`.
        chunks: The failed chunks to count again; empty for all of them.
        by: Who asks, for the record.
        time: Unix seconds.
        session: Which session of the run it is meant for (see `status.Snapshot`).
        nonce: Random; a request is followed once.
    """

    action: str
    chunks: tuple[Int, ...]
    by: str
    time: float
    session: str
    nonce: str


def make_request(action: str, chunks: tuple[int, ...], by: str, session: str) -> Request:
    """A new request."""
    return Request(action, chunks, by, time.time(), session, secrets.token_hex(16))


def sign_request(signer: Signer, run: str, request: Request) -> bytes:
    """A request as it lies in Redis."""
    body = request.to_bytes()
    return signer.sign(_CONTEXT, run.encode(), body) + b"\n" + body


def read_request(signer: Signer, run: str, session: str, data: bytes) -> Request:
    """Read a request to a session of a run; its signature first.

    Raises:
        MessageError: It is too large, is not signed with the fleet's key, is no request, was meant
            for another session, or is stale.
    """
    if len(data) > LARGEST:
        raise MessageError(f"a request is larger than {LARGEST} bytes")
    signature, _, body = data.partition(b"\n")
    if not signer.accepts(signature, _CONTEXT, run.encode(), body):
        raise MessageError("a request is not signed with the fleet's key")
    request = Request.from_bytes(body)
    if request.action not in (RETRY, CANCEL):
        raise MessageError(f"there is no request {request.action!r}")
    if request.session != session:  # not a comparison of times: clocks may differ
        raise MessageError("a request was meant for another session of the run")
    if abs(time.time() - request.time) > _STALE_AFTER:
        raise MessageError("a request is stale, or the clocks differ")
    return request
