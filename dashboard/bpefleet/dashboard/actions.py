"""Asks a run to count failed chunks again, or to stop, and logs each request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import line
from bpefleet.shared.wire.keys import CONTROL_TTL, control_key
from bpefleet.shared.wire.messages import Int, Message
from bpefleet.shared.wire.request import CANCEL, RETRY, make_request, sign_request

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.shown.status import Snapshot

LARGEST_BODY: Final = 64 << 10

_audit: Final = logging.getLogger("bpefleet.dashboard.audit")
"""The log of requests. Its name stays, whatever the module is called: people filter by it."""


class RefusedError(Exception):
    """A request that cannot be met now; the text says why."""


class Wish(Message, frozen=True):
    """The body of a request: for a retry the chunks, none for all that failed."""

    chunks: tuple[Int, ...] = ()


def read_wish(body: bytes) -> Wish:
    """Read a request's body.

    Raises:
        MessageError: It is none.
    """
    return Wish.from_bytes(body)


async def ask(
    redis: Redis, signer: Signer, now: Snapshot, action: str, chunks: tuple[int, ...], *, by: str
) -> str:
    """Leave a request to the producer of a run.

    Args:
        redis: The Redis that the producer reads requests from.
        signer: Holds the fleet's key.
        now: The run.
        action: `retry` or `cancel`.
        chunks: For a retry, the failed chunks; empty for all.
        by: Who asks.

    Returns:
        What was done, in words.

    Raises:
        RefusedError: No process is working on the run, or none of these chunks failed.
    """
    if not now.producer:
        raise RefusedError(f"no process is at the run: bpefleet resume {now.directory}")
    if action == RETRY:
        _check_chunks(now, chunks)
    request = make_request(action, chunks if action == RETRY else (), by, now.session)
    async with redis.pipeline() as pipeline:
        pipeline.rpush(control_key(now.run), sign_request(signer, now.run, request))
        pipeline.expire(control_key(now.run), CONTROL_TTL)
        await pipeline.execute()
    what = "all failed chunks" if not chunks else f"chunks {', '.join(map(str, chunks))}"
    audit(by, f"{action} {now.run}" + (f", {what}" if action == RETRY else ""), "asked")
    return "asked to stop" if action == CANCEL else f"asked to count {what} again"


def audit(by: str, what: str, outcome: str) -> None:
    """Log who asked for what, and the outcome: one short line, whatever the texts hold."""
    _audit.info("%s", _entry(by, what, outcome))


class Refusals:
    """Logs requests without the token, which anybody can send, as often as they like."""

    def __init__(self) -> None:
        self._warnings = RepeatedWarnings(_audit, "requests without the token were refused")

    def audit(self, by: str, what: str) -> None:
        """Log one, if it is among the first."""
        self._warnings.tell(_entry(by, what, "refused, no token"))


def _entry(by: str, what: str, outcome: str) -> str:
    said = ((line(text), most) for text, most in ((by, 100), (what, 300), (outcome, 300)))
    return ": ".join(t if len(t) <= most else f"{t[:most]}…" for t, most in said)


def _check_chunks(now: Snapshot, chunks: tuple[int, ...]) -> None:
    failed = {failure.chunk for failure in now.failed}
    if not failed:
        raise RefusedError("no chunk has failed")
    if now.more_failed:
        return  # the run itself knows those that are not named here
    if odd := sorted(set(chunks) - failed):
        raise RefusedError(f"not failed: {', '.join(map(str, odd[:10]))}")
