"""Why an attempt at a chunk failed, in words for people, and whether another may help."""

from __future__ import annotations

import time
import traceback
from typing import Final

from bpefleet.shared.errors import BpefleetError, QueueError, StoreError
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.process.text import printable
from bpefleet.shared.wire.messages import Failed, MessageError

LOST_AFTER: Final = 12
"""Seconds of silence after which a worker counts as dead and its attempt as abandoned: three of its
signs of life (`jobs.HEARTBEAT`) may be late or lost before that.
"""

ABANDONED: Final = "AbandonedJobError"
"""What the producer records as the failure of a job whose worker fell silent; RQ's word for it."""

_TRACEBACK_LINES: Final = 20
_LONGEST: Final = 10_000
"""Characters of an error's text, and of a traceback: an event that is too large is refused."""


def describe(error: Exception) -> Failed:
    """The failure that an exception in this process is."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return Failed(
        kind=type(error).__name__,
        error=printable(_reason(error)[:_LONGEST]),
        traceback=printable("\n".join(lines[-_TRACEBACK_LINES:])[-_LONGEST:]),
        may_heal=_may_heal(error),
        ended=time.time(),
        peak_rss=peak_rss(),
    )


def _reason(error: Exception) -> str:
    """What an exception says; for one that says nothing, what it is."""
    if isinstance(error, MemoryError):
        return "not enough memory\nhint: use smaller chunks, or fewer workers on that machine"
    return str(error) or type(error).__name__


def describe_text(exc_string: str) -> Failed:
    """For ends that RQ notices from outside, where there is no exception to ask."""
    lines = exc_string.splitlines() or [""]
    if ABANDONED in exc_string:
        text = f"its worker died, or was cut off from Redis for {LOST_AFTER} s"
        return Failed(kind=ABANDONED, error=text, may_heal=True)
    if "stopped by user" in exc_string:
        return Failed(kind="StoppedJob", error="stopped on request")
    tail = "\n".join(lines[-_TRACEBACK_LINES:])
    kind = lines[-1].partition(":")[0]
    return Failed(kind=kind, error=printable(lines[-1]), traceback=printable(tail), may_heal=True)


def _may_heal(error: Exception) -> bool:
    """Whether another attempt can end differently: our own errors say what is wrong for good."""
    if isinstance(error, QueueError | StoreError):
        return True
    return not isinstance(error, BpefleetError | MessageError)
