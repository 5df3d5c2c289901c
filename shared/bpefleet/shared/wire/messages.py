"""What crosses the queue, as frozen structs that turn into JSON and back.

A `CountSpec` goes to the worker as the job's argument; a `Counted` comes back as its result and
in its completion `Event`. Reading is strict: anything missing, unknown or of another type is a
`MessageError`, never a guess.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from msgspec import Meta, Struct, convert, json, to_builtins

FRAME: Final = 96
"""Bytes of a payload without entries: header and checksum (`kernel/core/src/payload`)."""

Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""An integer as others write it: one of more than 64 bits is no number of anything here."""

Natural = Annotated[int, Meta(ge=0, lt=1 << 53)]
"""How many there are of something: nobody has more of anything, and sums still fit 64 bits."""
Seconds = Annotated[float, Meta(ge=0, lt=1 << 53)]


class MessageError(ValueError):
    """A message is not what it should be; the text names the message and the field."""


class Message(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Reading and writing shared by all messages. None can be part of a cycle."""

    def to_json(self) -> dict[str, Any]:
        """This message as JSON-able data."""
        data: dict[str, Any] = to_builtins(self)
        return data

    def to_bytes(self) -> bytes:
        """This message as JSON."""
        return json.encode(self)

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a message from JSON-able data.

        Raises:
            MessageError: `data` is not an object with exactly this message's fields and types.
        """
        try:
            return convert(data, cls)
        except ValueError as error:
            raise MessageError(f"{cls.__name__}: {error}") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a message from JSON text.

        Raises:
            MessageError: It is no JSON, or as for `from_json`.
        """
        try:
            return json.decode(data, type=cls)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"{cls.__name__}: {error}") from error


class Segment(Message, frozen=True, omit_defaults=True):
    """A part of one file, scanned as a text of its own.

    Attributes:
        path: The file.
        start: Its first byte; of a table, its first row.
        end: The byte, or row, after its last.
        format: One of `bpefleet.shared.corpus.formats.FORMATS`.
        until: Of a part of a compressed file, which reads on to where its text may be cut: the
            file's last byte. 0 where a segment reads on no further.
        version: Of a file in a store, the version that it must have; see `stores.store.Entry`.
    """

    path: str
    start: Int
    end: Int
    format: str = "text"
    until: Int = 0
    version: str = ""


class Sample(Message, frozen=True):
    """Which documents of a chunk are counted; see `bpefleet.shared.corpus.sampling`.

    Attributes:
        source: The source's name.
        share: The share of its documents, of `sampling.WHOLE`.
        files: For each segment, what its file is called in the hash.
    """

    source: str
    share: Natural
    files: tuple[str, ...]


class CountSpec(Message, frozen=True):
    """What a worker needs to count one chunk.

    Attributes:
        segments: The chunk's byte ranges, in the corpus's order.
        pattern: The name of a split rule, or a regex.
        special_tokens: Never counted; each ends a piece of text.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        digest: Hex digest of what the counts depend on (see `patterns.counting_digest`).
        text_field: Where a record has its text: a key or column, dotted where they are nested.
        sample: Which documents are counted; None for all.
        exchange: Where to leave the counts (see `bpefleet.shared.exchange`); empty for Redis.
    """

    segments: tuple[Segment, ...]
    pattern: str
    special_tokens: tuple[str, ...]
    errors: str
    digest: str
    text_field: str = "text"
    sample: Sample | None = None
    exchange: str = ""


class Counted(Message, frozen=True):
    """What a worker reports of one counted chunk; the counts themselves are under `key`.

    Attributes:
        key: The Redis key of the payload; empty if it is in an exchange.
        sha256: Hex digest of the payload; empty without a fleet's key.
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
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
        file: The payload's file in the exchange; empty if it is in Redis.
    """

    key: str
    sha256: str
    size: Int
    bytes_read: Int
    pretokens: Int
    unique: Int
    replaced: Int
    unmatched: Int
    seconds: float
    peak_rss: Int
    worker: str
    started: float
    ended: float
    queued_seconds: float = 0.0
    read_seconds: float = 0.0
    scan_seconds: float = 0.0
    encode_seconds: float = 0.0
    publish_seconds: float = 0.0
    records: Int = 0
    absent: Int = 0
    file: str = ""

    @property
    def text_bytes(self) -> int:
        """Bytes of all pre-tokens at the most, each as often as it occurs.

        They are the chunk's own, but that U+FFFD, which stands for a bad sequence, has three.
        """
        return self.bytes_read + 2 * self.replaced

    @property
    def largest(self) -> int:
        """Bytes of the payload at the most: an entry is at most twice as long as its text."""
        return FRAME + 2 * self.text_bytes


class Part(Message, frozen=True):
    """A payload in an exchange: counts of one chunk, of several together, or a range of these.

    Attributes:
        file: The payload's file.
        sha256: Hex digest of the payload; empty without a fleet's key.
        size: Bytes of the payload.
        pretokens: Pre-tokens counted.
        unique: Distinct pre-tokens.
        text: Bytes of all pre-tokens at the most, as `Counted.text_bytes`.
    """

    file: str
    sha256: str
    size: Natural
    pretokens: Natural
    unique: Natural
    text: Natural


class ReduceSpec(Message, frozen=True):
    """What a worker needs to put some counts together.

    Attributes:
        exchange: Where they are, and where to leave the sum.
        parts: Which they are.
        digest: Hex digest of what the counts depend on (see `patterns.counting_digest`).
        ranges: Into how many ranges of hashes to divide the sum.
        least: Whether the least hashes are wanted.
    """

    exchange: str
    parts: tuple[Part, ...]
    digest: str
    ranges: Annotated[int, Meta(ge=1, le=256)] = 1
    least: bool = False


class Reduced(Message, frozen=True):
    """What a worker reports of counts that it put together, or that it could not.

    Attributes:
        parts: The sum in the exchange, range by range; none if parts of it are damaged.
        size: Bytes of these.
        seconds: Wall time of it.
        peak_rss: Bytes of peak resident memory of the work-horse.
        worker: The worker's name, which begins with its host's.
        started: When the attempt began, Unix seconds by the worker's clock.
        ended: When it ended, likewise.
        damaged: The parts, by their place in the spec, that are gone or are not what was said.
        key: Empty: nothing is in Redis.
        bytes_read: 0: no text is read.
        queued_seconds: From its queueing to its start, as far as the two clocks agree.
        least: The least hashes of its pre-tokens, 8 bytes each, if they were asked for.
    """

    parts: tuple[Part, ...]
    size: Natural
    seconds: float
    peak_rss: Int
    worker: str
    started: float
    ended: float
    damaged: tuple[Natural, ...] = ()
    key: str = ""
    bytes_read: Int = 0
    queued_seconds: float = 0.0
    least: bytes = b""


class Failed(Message, frozen=True):
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
    peak_rss: int = 0  # of any size: that the attempt failed is known all the same
    log: str = ""
