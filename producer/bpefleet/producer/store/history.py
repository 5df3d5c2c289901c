"""The history of attempts: who did what with which chunk when, and how it ended.

`DIR/attempts.jsonl` holds one line of JSON for each attempt that ended, in the order in which the
producer learned of it. It is for people: which chunks are folded is in the ledger. RQ keeps the
last attempt only, for a while.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from contextlib import contextmanager, suppress
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from msgspec.structs import replace

from bpefleet.producer.files.atomic import open_regular, reading, sync_folder
from bpefleet.producer.store.ends_noted import EndsNoted
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.kinds import COUNT, KINDS
from bpefleet.shared.wire.messages import Failed, Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from pathlib import Path

    from bpefleet.shared.wire.kinds import Result

ATTEMPTS: Final = "attempts.jsonl"
COUNTED: Final = COUNT.done
FAILED: Final = "failed"
_OF_RESULTS: Final = (
    "bytes_read",
    "unique",
    "queued_seconds",
    "read_seconds",
    "scan_seconds",
    "encode_seconds",
    "publish_seconds",
    "records",
    "absent",
)


class Attempt(Message, frozen=True):
    """An attempt at a chunk, after its end.

    Attributes:
        chunk: Index of the chunk in the plan.
        outcome: `failed`, or the word of its kind of job for success (`Kind.done`): `counted`.
        event: Id of the event that told of it; empty if there was none.
        attempt: Its id among the attempts at the chunk (see `jobs.FleetJob.attempt`); empty if
            unknown, as in histories of earlier versions.
        worker: The worker's name, which begins with its host's.
        started: Unix seconds by the worker's clock; 0 if unknown.
        ended: Likewise.
        peak_rss: Bytes of peak resident memory of the work-horse; 0 if unknown.
        bytes_read: Bytes of text counted.
        kind: Of a failure: the name of the error's class, or of the kind of failure.
        error: What happened.
        traceback: Its last lines.
        log: The last lines that the attempt logged, if it failed.
        final: Whether that session gave up the chunk after this attempt.
        unique: Distinct pre-tokens of the chunk.
        queued_seconds: From queueing to start, for a chunk that was counted. Like the
            following, 0 where unknown, as in histories of earlier versions.
        read_seconds: Reading the text.
        scan_seconds: Splitting and counting it.
        encode_seconds: Making the payload.
        publish_seconds: Leaving it in Redis.
        fold_seconds: Adding it to the ledger, in the producer.
        job: The kind of job.
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
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
    job: str = COUNT.name
    records: int = 0
    absent: int = 0

    @classmethod
    def of(
        cls,
        chunk: int,
        end: Result | Failed,
        *,
        event: str = "",
        attempt: str = "",
        final: bool = False,
        fold_seconds: float = 0.0,
        job: str = COUNT.name,
    ) -> Self:
        """The attempt that ended in this way."""
        what: dict[str, Any] = (
            {
                "outcome": FAILED,
                "kind": end.kind,
                "error": end.error,
                "traceback": end.traceback,
                "log": end.log,
                "final": final,
            }
            if isinstance(end, Failed)
            else {"outcome": KINDS[job].done, "fold_seconds": fold_seconds}
            | {name: getattr(end, name) for name in _OF_RESULTS if hasattr(end, name)}
        )
        return cls(
            chunk=chunk,
            event=event,
            attempt=attempt,
            worker=end.worker,
            started=end.started,
            ended=end.ended,
            peak_rss=end.peak_rss,
            job=job,
            **what,
        )


_NUMBERS: Final = tuple(
    n for n, kind in Attempt.__annotations__.items() if kind in ("int", "float")
)
"""The numeric fields of an attempt. All but the chunk are for people."""
_ALL_NUMBERS: Final = attrgetter(*_NUMBERS)
_LARGEST: Final = 1 << 53
"""The largest number that is read from a history. A larger one is no count or time."""
_LONGEST: Final = 1 << 22
"""Bytes of a line: an attempt's traceback and log are far shorter."""


class Journal:
    """Appends attempts to a run's history. Threads may do so at once.

    An attempt's end is written once, although RQ may deliver it more than once and signed messages
    can be replayed. One that was given up as lost may still succeed: then it has two ends.

    Attributes:
        failed: How many attempts at each chunk failed, over all sessions, where any did.
    """

    def __init__(self, directory: Path, job: str = COUNT.name) -> None:
        """Open it.

        Args:
            directory: The run's.
            job: The kind of job whose attempts are told.

        Raises:
            OutputError: It cannot be read or written.
        """
        self._path = directory / ATTEMPTS
        self._job = job
        self._still = Lock()
        self._syncing = Lock()
        with _explained(self._path):
            self.failed: Counter[int] = Counter()
            self._known = EndsNoted()
            for attempt in _attempts_in(self._path):
                self._note(attempt)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            self._descriptor = open_regular(self._path, flags)
            self._end = os.fstat(self._descriptor).st_size
            if self._end and os.pread(self._descriptor, 1, self._end - 1) != b"\n":
                self._append(b"\n")  # a crash left half a line
            sync_folder(directory)
        self._synced = self._end

    def close(self) -> None:
        """Close the file, and set its modification time to the end of the session.

        Raises:
            OutputError: The disk fails.
        """
        try:
            self.sync()
            with suppress(OSError):
                os.utime(self._descriptor)
        finally:
            os.close(self._descriptor)

    def add(self, attempt: Attempt) -> None:
        """Append an attempt, unless it is there already.

        Raises:
            OutputError: The disk is full or fails; the history is as it was.
        """
        with self._still, _explained(self._path):
            if attempt.attempt and self._known.has(*_identity(attempt)):
                return
            self._append(attempt.to_bytes() + b"\n")
            self._note(attempt)

    def sync(self) -> None:
        """Write what was added to disk. Only then may its events and payloads be deleted.

        Raises:
            OutputError: The disk fails.
        """
        upto = self._end
        with self._syncing, _explained(self._path):
            if self._synced < upto:  # otherwise another thread has just done it
                upto = self._end
                os.fdatasync(self._descriptor)
                self._synced = upto

    def _note(self, attempt: Attempt) -> None:
        self._known.note(*_identity(attempt))
        if attempt.job == self._job and attempt.outcome == FAILED:
            self.failed[attempt.chunk] += 1

    def _append(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:  # the system may write less than it is given
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(data)

    def has(self, chunk: int, attempt: str, outcome: str, job: str = COUNT.name) -> bool:
        """Whether the end of an attempt is in the history."""
        return self._known.has(job, chunk, attempt, outcome)


def _identity(attempt: Attempt) -> tuple[str, int, str, str]:
    return attempt.job, attempt.chunk, attempt.attempt, attempt.outcome


def read_attempts(directory: Path, job: str = COUNT.name) -> dict[int, list[Attempt]]:
    """The attempts of a run at one kind of job by chunk, each chunk's in order.

    Raises:
        OutputError: The history cannot be read.
    """
    path = directory / ATTEMPTS
    found: dict[int, list[Attempt]] = {}
    with _explained(path):
        for attempt in _attempts_in(path):
            if attempt.job == job:
                found.setdefault(attempt.chunk, []).append(attempt)
    return found


def given_up(
    directory: Path, counted: Container[int], job: str = COUNT.name
) -> dict[int, tuple[Attempt, int]]:
    """The chunks that were given up, as `last_attempts`; but for those that are counted."""
    found = last_attempts(directory, counted, job)
    return {chunk: found[chunk] for chunk in sorted(found) if found[chunk][0].final}


def last_attempts(
    directory: Path, counted: Container[int], job: str = COUNT.name
) -> dict[int, tuple[Attempt, int]]:
    """The last attempt at each chunk that is not counted, and how many there were.

    Args:
        directory: The run.
        counted: The chunks that are counted.
        job: The kind of job.

    Raises:
        OutputError: The history cannot be read.
    """
    path = directory / ATTEMPTS
    found: dict[int, tuple[Attempt, int]] = {}
    with _explained(path):
        for attempt in _attempts_in(path):
            if attempt.job == job and attempt.chunk not in counted:
                _, before = found.get(attempt.chunk, (attempt, 0))
                found[attempt.chunk] = attempt, before + 1
    return found


class History:
    """The attempts of one kind in a running run, read as they are added."""

    def __init__(self, directory: Path, job: str = COUNT.name) -> None:
        self._job = job
        self._path = directory / ATTEMPTS
        self._read = 0

    def new(self) -> Iterator[Attempt]:
        """Those that were added since the last time.

        Raises:
            OutputError: The history cannot be read.
        """
        with _explained(self._path), suppress(FileNotFoundError), reading(self._path) as file:
            file.seek(self._read)
            for line in _lines(file):
                if not line.endswith(b"\n"):
                    return  # it is on its way
                self._read += len(line)
                for attempt in _parse(line):
                    if attempt.job == self._job:
                        yield attempt


def _attempts_in(path: Path) -> Iterator[Attempt]:
    """The attempts in a history; none if there is no such file."""
    with suppress(FileNotFoundError), reading(path) as file:
        for line in _lines(file):
            yield from _parse(line)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST):
        if len(line) == _LONGEST:
            raise OSError(errno.EINVAL, f"a line of more than {_LONGEST:,} bytes is no attempt")
        yield line


def _parse(line: bytes) -> Iterator[Attempt]:
    """The attempt in a line; None for half a line, which a crash leaves.

    Lines of earlier versions lack the fields that were added since.
    """
    with suppress(MessageError):
        attempt = Attempt.from_bytes(line)
        if _bounded(attempt.chunk):
            # Workers choose these texts freely; that the attempt failed is certain all the same.
            numbers = _ALL_NUMBERS(attempt)
            if not (_bounded(min(numbers)) and _bounded(max(numbers))):
                odd: Any = {name: 0 for name in _NUMBERS if not _bounded(getattr(attempt, name))}
                attempt = replace(attempt, **odd)
            yield attempt


def _bounded(number: float) -> bool:
    return 0 <= number < _LARGEST


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "make room or check the permissions"
        if error.errno == errno.EINVAL:  # no regular file, or no history
            hint = "move it away: it is for people, and the run goes on without"
        raise OutputError(f"{path}: {error.strerror}", hint=hint) from error
