"""`index.json`: what a run of encode jobs wrote, in which files."""

from __future__ import annotations

from typing import Final

from bpefleet.shared.wire.messages import Message, Natural

VERSION: Final = 1
SOURCES: Final = "sources.jsonl"
"""A `SourceLine` for each file of the corpus, in its order."""


class ShardFile(Message, frozen=True):
    """A file of a shard."""

    name: str
    bytes: Natural
    sha256: str


class ShardFiles(Message, frozen=True):
    """A shard: whole documents, in the corpus's order.

    Attributes:
        tokens: Ids in it, separators included.
        documents: Documents in it.
        files: The tokens' file, and if there is one that which says where documents are.
    """

    tokens: Natural
    documents: Natural
    files: tuple[ShardFile, ...]


class Index(Message, frozen=True):
    """What was written. It is the same for any chunks and workers.

    Attributes:
        version: Of this message.
        format: Of the shards.
        width: Bytes of an id: 2 or 4.
        separator: The id that ends each document; None for none.
        tokenizer: Hex SHA-256 of `encoder.json`.
        tokens: All of them.
        documents: Likewise.
        bytes: Bytes of text.
        shards: In order.
    """

    version: Natural
    format: str
    width: Natural
    separator: Natural | None
    tokenizer: str
    tokens: Natural
    documents: Natural
    bytes: Natural
    shards: tuple[ShardFiles, ...]


class SourceLine(Message, frozen=True, omit_defaults=True):
    """A file of the corpus.

    Attributes:
        path: Its path or URL; `-` for all that arrived, as documents or on standard input.
        token: Where its first token is, of all.
        tokens: How many it has.
        document: The number of its first document.
        documents: How many it has.
        source: The name of the source that it is of; empty but in a mixture.
    """

    path: str
    token: Natural
    tokens: Natural
    document: Natural
    documents: Natural
    source: str = ""
