"""What crosses the queue, as frozen dataclasses that turn into JSON and back.

A `CountSpec` goes to the worker as the job's argument; a `Counted` comes back as its result and
in its completion `Event`. Reading is strict: anything missing, unknown or of another type is a
`MessageError`, never a guess.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cache
from types import UnionType
from typing import Any, Final, Self, get_args, get_origin, get_type_hints

_FRAME: Final = 96
"""Bytes of a payload without entries: header and checksum (`kernel/core/src/payload`)."""


class MessageError(ValueError):
    """A message is not what it should be; the text names the message and the field."""


@dataclass(frozen=True, slots=True)
class Message:
    """Reading and writing shared by all messages."""

    def to_json(self) -> dict[str, Any]:
        """This message as JSON-able data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a message.

        Raises:
            MessageError: `data` is not an object with exactly this message's fields and types.
        """
        if not isinstance(data, dict):
            raise MessageError(f"{cls.__name__}: expected an object, got {type(data).__name__}")
        hints = _hints(cls)  # type: ignore[arg-type]  # a class is hashable
        names = [field.name for field in fields(cls)]
        if odd := sorted(set(names) ^ set(map(str, data))):
            raise MessageError(f"{cls.__name__}: missing or unknown fields: {', '.join(odd)}")
        return cls(**{n: _read(f"{cls.__name__}.{n}", hints[n], data[n]) for n in names})


@cache  # a course of a run is read each second: six hundred messages
def _hints(cls: type[Message]) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(where: str, expected: Any, value: object) -> Any:
    if get_origin(expected) is tuple:
        if not isinstance(value, list | tuple):
            raise MessageError(f"{where}: expected a list, got {type(value).__name__}")
        item = get_args(expected)[0]
        return tuple(_read(f"{where}[{i}]", item, v) for i, v in enumerate(value))
    if isinstance(expected, type) and issubclass(expected, Message):
        return expected.from_json(value)
    if get_origin(expected) is UnionType:  # `x | None`
        return None if value is None else _read(where, get_args(expected)[0], value)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise MessageError(f"{where}: expected {expected.__name__}, got {type(value).__name__}")
    return value


@dataclass(frozen=True, slots=True)
class Segment(Message):
    """A byte range of one file: `[start, end)`, scanned as a text of its own."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CountSpec(Message):
    """What a worker needs to count one chunk.

    Attributes:
        segments: The chunk's byte ranges, in the corpus's order.
        pattern: The name of a split rule, or a regex.
        special_tokens: Never counted; each ends a piece of text.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        digest: Hex digest of what the counts depend on (see `patterns.counting_digest`).
    """

    segments: tuple[Segment, ...]
    pattern: str
    special_tokens: tuple[str, ...]
    errors: str
    digest: str


@dataclass(frozen=True, slots=True)
class Counted(Message):
    """What a worker reports of one counted chunk; the counts themselves are under `key`.

    Attributes:
        key: The Redis key of the payload.
        sha256: Hex digest of the payload; empty without a key.
        size: Bytes of the payload.
        bytes_read: Bytes of text counted.
        pretokens: Pre-tokens counted.
        unique: Distinct pre-tokens.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes of text that the regex matched nowhere.
        seconds: Wall time of the count, reading and serializing included.
        peak_rss: Bytes of peak resident memory of the work-horse.
        worker: The worker's name, which begins with its host's.
        started: When the attempt began, Unix seconds by the worker's clock.
        ended: When it ended, likewise.
        queued_seconds: From its queueing to its start, as far as the two clocks agree.
        read_seconds: Of `seconds`: reading the text.
        scan_seconds: Splitting and counting it.
        encode_seconds: Making the payload.
        publish_seconds: Leaving it in Redis.
    """

    key: str
    sha256: str
    size: int
    bytes_read: int
    pretokens: int
    unique: int
    replaced: int
    unmatched: int
    seconds: float
    peak_rss: int
    worker: str
    started: float
    ended: float
    queued_seconds: float = 0.0
    read_seconds: float = 0.0
    scan_seconds: float = 0.0
    encode_seconds: float = 0.0
    publish_seconds: float = 0.0

    @property
    def text_bytes(self) -> int:
        """Bytes of all pre-tokens at the most, each as often as it occurs.

        They are the chunk's own, but that U+FFFD, which stands for a bad sequence, has three.
        """
        return self.bytes_read + 2 * self.replaced

    @property
    def largest(self) -> int:
        """Bytes of the payload at the most: an entry is at most twice as long as its text."""
        return _FRAME + 2 * self.text_bytes


@dataclass(frozen=True, slots=True)
class Failed(Message):
    """Why an attempt at a chunk failed.

    Attributes:
        kind: The error's class, or what it is called here.
        error: What happened and what to do, in words.
        traceback: The traceback's last lines; empty for an end seen from outside.
        may_heal: Whether another attempt can end differently.
        worker: The worker's name, empty if unknown.
        started: When the attempt began, Unix seconds by the worker's clock; 0 if unknown.
        ended: When it ended, or was found to have ended.
        peak_rss: Bytes of peak resident memory of the work-horse; 0 if unknown.
        log: The last lines that the attempt logged.
    """

    kind: str
    error: str
    traceback: str = ""
    may_heal: bool = False
    worker: str = ""
    started: float = 0.0
    ended: float = 0.0
    peak_rss: int = 0
    log: str = ""
