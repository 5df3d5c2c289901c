"""The history of attempts: who counted which chunk when, and how it ended.

`DIR/attempts.jsonl` holds one line of JSON for each attempt that ended, in the order in which the
producer learned of it. It is for people; what counts as folded is the ledger's to say. RQ forgets
attempts: it keeps the last one, for a while.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from bpefleet.shared.errors import OutputError
from bpefleet.shared.messages import Counted, Failed, Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTEMPTS: Final = "attempts.jsonl"
COUNTED: Final = "counted"
FAILED: Final = "failed"
_OF_COUNTED: Final = (
    "bytes_read",
    "unique",
    "queued_seconds",
    "read_seconds",
    "scan_seconds",
    "encode_seconds",
    "publish_seconds",
)


@dataclass(frozen=True, slots=True)
class Attempt(Message):
    """An attempt at a chunk that ended.

    Attributes:
        chunk: Index of the chunk in the plan.
        outcome: `counted` or `failed`.
        event: Id of the event that told of it; empty if there was none.
        attempt: What tells attempts at the chunk apart (see `jobs.FleetJob.attempt`); empty if
            unknown, as in histories of earlier versions.
        worker: The worker's name, which begins with its host's.
        started: Unix seconds by the worker's clock; 0 if unknown.
        ended: Likewise.
        peak_rss: Bytes of peak resident memory of the work-horse; 0 if unknown.
        bytes_read: Bytes of text counted.
        kind: Of a failure: the error's class, or what it is called here.
        error: What happened.
        traceback: Its last lines.
        log: The last lines that the attempt logged, if it failed.
        final: Whether the chunk was given up with it, as far as that session went.
        unique: Distinct pre-tokens of the chunk.
        queued_seconds: Of a chunk that was counted: from its queueing to its start; like the
            following 0 where it is unknown, as in histories of earlier versions.
        read_seconds: Reading the text.
        scan_seconds: Splitting and counting it.
        encode_seconds: Making the payload.
        publish_seconds: Leaving it in Redis.
        fold_seconds: Adding it to the ledger, in the producer.
    """

    chunk: int
    outcome: str
    event: str
    worker: str
    started: float
    ended: float
    peak_rss: int
    bytes_read: int = 0
    kind: str = ""
    error: str = ""
    traceback: str = ""
    log: str = ""
    final: bool = False
    unique: int = 0
    queued_seconds: float = 0.0
    read_seconds: float = 0.0
    scan_seconds: float = 0.0
    encode_seconds: float = 0.0
    publish_seconds: float = 0.0
    fold_seconds: float = 0.0
    attempt: str = ""

    @classmethod
    def of(
        cls,
        chunk: int,
        end: Counted | Failed,
        *,
        event: str = "",
        attempt: str = "",
        final: bool = False,
        fold_seconds: float = 0.0,
    ) -> Self:
        """The attempt that ended so."""
        what: dict[str, Any] = (
            {"outcome": COUNTED, "fold_seconds": fold_seconds}
            | {name: getattr(end, name) for name in _OF_COUNTED}
            if isinstance(end, Counted)
            else {
                "outcome": FAILED,
                "kind": end.kind,
                "error": end.error,
                "traceback": end.traceback,
                "log": end.log,
                "final": final,
            }
        )
        return cls(
            chunk=chunk,
            event=event,
            attempt=attempt,
            worker=end.worker,
            started=end.started,
            ended=end.ended,
            peak_rss=end.peak_rss,
            **what,
        )


_DEFAULTS: Final = {f.name: f.default for f in fields(Attempt) if f.default is not MISSING}


class Journal:
    """Appends attempts to a run's history.

    Each end of an attempt once: RQ delivers at least once, and what was signed can be played back.
    An attempt that was given up for lost may still end well, which makes two.

    Attributes:
        tried: How often each chunk was tried, in all sessions.
    """

    def __init__(self, directory: Path) -> None:
        """Open it.

        Raises:
            OutputError: It cannot be read or written.
        """
        self._path = directory / ATTEMPTS
        with _explained(self._path):
            text = self._path.read_bytes() if self._path.exists() else b""
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.fdopen(os.open(self._path, flags, 0o600), "ab", buffering=0)
            if text and not text.endswith(b"\n"):
                self._file.write(b"\n")  # a crash left half a line
        self.tried: Counter[int] = Counter()
        self._known = set()
        for attempt in _parse(text):
            self.tried[attempt.chunk] += 1
            self._known.add(_identity(attempt))

    def close(self) -> None:
        """Close the file; the time of its last change is that of the session's end."""
        with suppress(OSError):
            os.utime(self._file.fileno())
        self._file.close()

    def add(self, attempt: Attempt) -> None:
        """Append an attempt, unless it is there already.

        Raises:
            OutputError: The disk is full or fails.
        """
        if attempt.attempt and _identity(attempt) in self._known:
            return
        self._known.add(_identity(attempt))
        self.tried[attempt.chunk] += 1
        with _explained(self._path):
            self._file.write(orjson.dumps(attempt) + b"\n")

    def has(self, chunk: int, attempt: str, outcome: str) -> bool:
        """Whether the end of an attempt is there."""
        return (chunk, attempt, outcome) in self._known


def _identity(attempt: Attempt) -> tuple[int, str, str]:
    return attempt.chunk, attempt.attempt, attempt.outcome


def read_attempts(directory: Path) -> dict[int, list[Attempt]]:
    """The attempts of a run by chunk, each chunk's in order.

    Raises:
        OutputError: The history cannot be read.
    """
    path = directory / ATTEMPTS
    found: dict[int, list[Attempt]] = {}
    with _explained(path):
        text = path.read_bytes() if path.exists() else b""
    for attempt in _parse(text):
        found.setdefault(attempt.chunk, []).append(attempt)
    return found


class History:
    """The attempts of a run that goes, read as they come.

    Attributes:
        attempts: By chunk, each chunk's in order, as of the last look.
    """

    def __init__(self, directory: Path) -> None:
        self.attempts: dict[int, list[Attempt]] = {}
        self._path = directory / ATTEMPTS
        self._read = 0

    def look(self) -> None:
        """Read what was added since the last look.

        Raises:
            OutputError: The history cannot be read.
        """
        with _explained(self._path), suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
            whole = text[: text.rfind(b"\n") + 1]  # a line may be on its way
            self._read += len(whole)
            for attempt in _parse(whole):
                self.attempts.setdefault(attempt.chunk, []).append(attempt)


def _parse(text: bytes) -> Iterator[Attempt]:
    """The attempts in a history; half a line, which a crash leaves, is none.

    Lines of earlier versions lack the fields that were added since.
    """
    for line in text.splitlines():
        with suppress(orjson.JSONDecodeError, MessageError):
            data = orjson.loads(line)
            yield Attempt.from_json(_DEFAULTS | data if isinstance(data, dict) else data)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path}: {error.strerror}", hint="make room or check the permissions"
        ) from error
