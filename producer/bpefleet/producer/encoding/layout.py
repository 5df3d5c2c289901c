"""What goes into which shard: decided by the tokens in the corpus's order, and nothing else.

The pieces of all chunks, in order, are one sequence of tokens in which documents end. It is the
same for any cuts between chunks. A shard ends with the document with which it reaches the size that
was asked for, so shards are the same, too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.shared.corpus.pieces import Extent, numbers_at
from bpefleet.shared.errors import SourceError
from bpefleet.shared.wire.encoding import piece_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bpefleet.shared.stores.places import Place
    from bpefleet.shared.wire.encoding import Encoded, Encoding

_BLOCK: Final = 1 << 18
"""Bytes that are read at once: few enough to stay in a cache until they are written again."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece, and where it lies in the sequence.

    Attributes:
        name: The piece's file.
        extent: Where in it what is.
        segments: How many segments its chunk has.
        skipped: Ids at its beginning that do not count: the end of a document that had ended.
        hidden: Ends of documents of which the same is true, 0 or 1.
        token: Where its first token lies.
        tokens: How many it has.
        document: The number of the first document that ends in it.
        documents: How many end in it.
    """

    name: str
    extent: Extent
    segments: int
    skipped: int
    hidden: int
    token: int
    tokens: int
    document: int
    documents: int

    def ends(self, file: BinaryIO) -> array[int]:
        """Where documents end, in the sequence."""
        found = numbers_at(file, self.extent.ids, self.extent.ends, self.name)[self.hidden :]
        shift = self.token - self.skipped
        return array("Q", [shift + end for end in found]) if shift else found

    def parts(self, file: BinaryIO) -> Iterator[tuple[int, int]]:
        """For each segment of its chunk how many tokens and documents it has."""
        found = numbers_at(file, self.extent.ends, self.extent.size, self.name)
        for at in range(0, len(found), 2):
            first = at == 0
            yield found[at] - self.skipped * first, found[at + 1] - self.hidden * first


@dataclass(frozen=True, slots=True)
class Shard:
    """Some whole documents: their tokens and their numbers, each from the first to behind the last.

    Attributes:
        number: From 0.
        token: The first token.
        end: Behind the last.
        document: The first document.
        last: Behind the last.
    """

    number: int
    token: int
    end: int
    document: int
    last: int

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return self.end - self.token

    @property
    def documents(self) -> int:
        """How many documents it has."""
        return self.last - self.document


def pieces_of(
    encoded: Mapping[int, Encoded], segments: Mapping[int, int], encoding: Encoding
) -> list[Piece]:
    """The pieces in the corpus's order.

    Args:
        encoded: What is said of each chunk's.
        segments: How many segments each chunk has.
        encoding: The run's.
    """
    found: list[Piece] = []
    token = document = 0
    is_open = False
    for chunk, each in sorted(encoded.items()):
        hidden = int(each.conditional and not is_open)
        skipped = hidden if encoding.separator is not None else 0
        count = segments[chunk]
        extent = Extent.of(each.tokens, each.documents, count, encoding.width)
        tokens, documents = each.tokens - skipped, each.documents - hidden
        name = piece_name(chunk)
        found.append(
            Piece(name, extent, count, skipped, hidden, token, tokens, document, documents)
        )
        token, document = token + tokens, document + documents
        is_open = is_open if each.open is None else each.open
    return found


def shards_of(pieces: list[Piece], place: Place, size: int) -> Iterator[Shard]:
    """The shards, each of at least `size` tokens but the last; one of all if it is 0."""
    number = token = document = 0
    for piece in pieces if size else ():
        if piece.token + piece.tokens < token + size:
            continue
        with place.opened(piece.name) as file:
            ends = piece.ends(file)
        at = 0
        while (at := bisect_left(ends, token + size, at)) < len(ends):
            last = piece.document + at + 1
            yield Shard(number, token, ends[at], document, last)
            number, token, document = number + 1, ends[at], last
            at += 1
    end = pieces[-1].token + pieces[-1].tokens if pieces else 0
    last = pieces[-1].document + pieces[-1].documents if pieces else 0
    if not number or (token, document) != (end, last):
        yield Shard(number, token, end, document, last)


class Contents:
    """Reads parts of the sequence, from the pieces."""

    def __init__(self, pieces: list[Piece], place: Place, width: int) -> None:
        self._pieces = pieces
        self._begins = [piece.token for piece in pieces]
        self._place = place
        self._width = width

    def ids(self, start: int, end: int) -> Iterator[memoryview]:
        """The tokens from `start` to `end`, as they are stored; each block holds until the next.

        Raises:
            SourceError: A piece cannot be read, or ends before its end.
        """
        room = memoryview(
            bytearray(_BLOCK)
        )  # the same for all: new memory takes as long as copying
        for piece in self._among(start, end):
            shift = piece.skipped - piece.token
            at = (max(start, piece.token) + shift) * self._width
            to = (min(end, piece.token + piece.tokens) + shift) * self._width
            if at >= to:
                continue
            with self._place.opened(piece.name) as file:
                file.seek(at)
                while at < to:
                    if not (size := file.readinto(room[: to - at])):  # type: ignore[attr-defined]
                        raise SourceError(f"the piece {piece.name} ends before its end")
                    yield room[:size]
                    at += size

    def ends(self, shard: Shard) -> Iterator[array[int]]:
        """Where a shard's documents end, in tokens from its first on: some at a time."""
        for piece in self._among(shard.token, shard.end):
            first = max(shard.document, piece.document) - piece.document
            last = min(shard.last, piece.document + piece.documents) - piece.document
            if first < last:
                with self._place.opened(piece.name) as file:
                    found = piece.ends(file)[first:last]
                shift = shard.token
                yield array("Q", [end - shift for end in found]) if shift else found

    def _among(self, start: int, end: int) -> Iterator[Piece]:
        """The pieces that have tokens of a part, or documents that end at its ends."""
        at = bisect_left(self._begins, start)
        while at and self._pieces[at - 1].token + self._pieces[at - 1].tokens >= start:
            at -= 1
        while at < len(self._pieces) and self._pieces[at].token <= end:
            yield self._pieces[at]
            at += 1
