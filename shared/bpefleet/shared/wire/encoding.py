"""What encode jobs are told and answer, and how a run of them is to be done."""

from __future__ import annotations

from typing import Final, Literal

from bpefleet.shared.wire.messages import CountSpec, Int, Message, Natural, Segment

ENCODER: Final = "encoder.json"
"""The tokenizer of a run of encode jobs, in the folder that its shards are written to."""
PIECES: Final = "pieces"
"""The folder there with what each job wrote, until the shards are put together."""
INDEX: Final = "index.json"
"""What is in the shards; written last."""

MEASURED: Final = "measured"
"""The format of a run whose tokens are measured, to compare tokenizers, and not kept."""

Width = Literal[0, 2, 4]
"""Bytes of a token's id; 0 where tokens are counted and not kept."""


class Encoding(Message, frozen=True):
    """What a run of encode jobs makes; part of its plan.

    Attributes:
        place: The folder that shards are written to: an absolute path, or a URL.
        tokenizer: Hex SHA-256 of the tokenizer's file there.
        format: Of the shards; one of `bpefleet.producer.encoding.formats.NAMES`, or `MEASURED`.
        width: Bytes of an id, or 0.
        separator: The id that ends each document; None for none.
        shard_size: A shard ends with the document with which it has so many tokens; 0: one shard.
        arrived: What the corpus was, if it was no file: one text, whose parts are the files, or
            records.
    """

    place: str
    tokenizer: str
    format: str
    width: Width
    separator: Natural | None
    shard_size: Natural
    arrived: Literal["", "text", "records"] = ""


class EncodeSpec(Message, frozen=True):
    """What a worker needs to encode one chunk.

    Attributes:
        text: Which text, and by what rule it is split.
        ends: For each segment whether its file ends with it.
        place: See `Encoding`, like all that follow.
        tokenizer: Likewise.
        width: Likewise.
        separator: Likewise.
    """

    text: CountSpec
    ends: tuple[bool, ...]
    place: str
    tokenizer: str
    width: Width
    separator: Natural | None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The chunk's segments, in the corpus's order."""
        return self.text.segments


class Encoded(Message, frozen=True):
    """What a worker reports of one encoded chunk; its tokens are in the piece that it wrote.

    Attributes:
        size: Bytes of the piece.
        tokens: Ids in it.
        documents: Documents that end in it.
        open: Whether its last document goes on in the next chunk; None if the chunk has no ids, and
            it is as it was.
        conditional: Whether its first document is but the end of one from the chunk before, and
            counts only if that left one open.
        bytes_read: Bytes of text.
        replaced: Invalid byte sequences replaced by U+FFFD.
        seconds: Wall time, reading and writing included.
        peak_rss: Bytes of peak resident memory of the work-horse.
        worker: The worker's name, which begins with its host's.
        started: When the attempt began, Unix seconds by the worker's clock.
        ended: When it ended, likewise.
        queued_seconds: From its queueing to its start, as far as the two clocks agree.
        read_seconds: Of `seconds`: reading the text.
        scan_seconds: Encoding it.
        publish_seconds: Writing the piece.
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
        key: Always empty: nothing is left in Redis.
    """

    size: Natural
    tokens: Natural
    documents: Natural
    open: bool | None
    conditional: bool
    bytes_read: Int
    replaced: Int
    seconds: float
    peak_rss: Int
    worker: str
    started: float
    ended: float
    queued_seconds: float = 0.0
    read_seconds: float = 0.0
    scan_seconds: float = 0.0
    publish_seconds: float = 0.0
    records: Int = 0
    absent: Int = 0
    key: str = ""


def piece_name(chunk: int) -> str:
    """The piece of a chunk, below the place of a run's shards."""
    return f"{PIECES}/{chunk:08}"
