"""Writes shards and their index, once all pieces are there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import json

from bpefleet.producer.encoding.formats import FORMATS, TABLES, shard_name
from bpefleet.producer.encoding.layout import Contents, pieces_of, shards_of
from bpefleet.producer.encoding.measured import add_up
from bpefleet.producer.encoding.tables import write_table
from bpefleet.producer.files.atomic import write_atomically
from bpefleet.producer.planning.options import STANDARD_INPUT
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.tokens.index import SOURCES, VERSION, Index, ShardFile, ShardFiles, SourceLine
from bpefleet.shared.wire.encoding import INDEX, MEASURED, PIECES, piece_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from bpefleet.producer.encoding.layout import Piece, Shard
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.stores.places import Place
    from bpefleet.shared.wire.encoding import Encoded, Encoding


def assemble(
    plan: Plan,
    folder: Path,
    encoded: Mapping[int, Encoded],
    shown: Callable[[int], object],
) -> Index:
    """Put the pieces of a run together, in the place of its shards, and remove them.

    A crash leaves the pieces, and shards that are made again.

    Args:
        plan: The run's; it encodes.
        folder: The run's directory.
        encoded: What is said of each chunk's piece.
        shown: Called now and then with the tokens that are written; what it raises ends this.

    Raises:
        OutputError: The disk is full or fails.
        SourceError: A piece is gone, or the store fails.
    """
    if (encoding := plan.encoding) is None:  # pragma: no cover
        raise AssertionError
    place = place_of(encoding.place)
    if encoding.format == MEASURED:
        add_up(plan, folder, encoded, shown)
        index = _index(encoding, encoded, [])
        _put_index(index, place, folder, encoding)
        _remove([piece_name(chunk) for chunk in encoded], place, encoding)
        return index
    segments = {chunk: len(plan.chunks[chunk]) for chunk in encoded}
    pieces = pieces_of(encoded, segments, encoding)
    contents = Contents(pieces, place, encoding.width)
    shards = []
    for shard in shards_of(pieces, place, encoding.shard_size):
        files = tuple(_written(shard, encoding, contents, place, shown))
        shards.append(ShardFiles(shard.tokens, shard.documents, files))
        shown(shard.end)
    with place.writing(SOURCES) as file:
        for line in _sources(plan, pieces, sorted(encoded), place):
            file.write(line.to_bytes() + b"\n")
    index = _index(encoding, encoded, shards)
    _put_index(index, place, folder, encoding)
    _remove([piece.name for piece in pieces], place, encoding)
    return index


def _index(encoding: Encoding, encoded: Mapping[int, Encoded], shards: list[ShardFiles]) -> Index:
    """What was written; of tokens that were only measured there are no shards."""
    counted: Collection[Encoded | ShardFiles] = shards or encoded.values()
    return Index(
        version=VERSION,
        format=encoding.format,
        width=encoding.width,
        separator=encoding.separator,
        tokenizer=encoding.tokenizer,
        tokens=sum(each.tokens for each in counted),
        documents=sum(each.documents for each in counted),
        bytes=sum(each.bytes_read for each in encoded.values()),
        shards=tuple(shards),
    )


def _remove(pieces: list[str], place: Place, encoding: Encoding) -> None:
    """Remove the pieces, and what workers that died have left beside them."""
    if is_url(encoding.place):  # there is nothing but whole objects
        for piece in pieces:
            place.remove(piece)
    else:
        rmtree(Path(encoding.place) / PIECES, ignore_errors=True)


def _put_index(index: Index, place: Place, folder: Path, encoding: Encoding) -> None:
    data = json.format(index.to_bytes())
    if is_url(encoding.place) or folder.resolve() != Path(encoding.place):
        with place.writing(INDEX) as file:
            file.write(data + b"\n")
    write_atomically(folder / INDEX, data, b"\n")


def _written(
    shard: Shard,
    encoding: Encoding,
    contents: Contents,
    place: Place,
    shown: Callable[[int], object],
) -> Iterator[ShardFile]:
    """Write the files of a shard."""
    width = encoding.width
    if encoding.format in TABLES:
        name = shard_name(shard.number) + TABLES[encoding.format]
        with place.writing(name) as file:
            hashed = Hashed(file)
            write_table(hashed, encoding.format, contents, shard, width)  # type: ignore[arg-type]
        yield hashed.told(name)
        return
    for ending, blocks in FORMATS[encoding.format].items():
        name, done = shard_name(shard.number) + ending, 0
        with place.writing(name) as file:
            hashed = Hashed(file)
            for block in blocks(contents, shard, width):
                hashed.write(block)
                done += memoryview(block).nbytes
                shown(shard.token + min(shard.tokens, done // max(1, width)))
        yield hashed.told(name)


class Hashed:
    """A file that is written to its end, and its digest."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: Any) -> int:
        """Write bytes, all of them."""
        left = memoryview(data).cast("B")
        self._digest.update(left)
        size = len(left)
        while left:
            left = left[self._file.write(left) :]
        self._size += size
        return size

    def tell(self) -> int:
        """Bytes so far."""
        return self._size

    def flush(self) -> None:
        """What is written is flushed as the file is closed."""

    def close(self) -> None:
        """The file is closed by whoever opened it."""

    def readable(self) -> bool:
        """It is not."""
        return False

    def writable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is not."""
        return False

    def told(self, name: str) -> ShardFile:
        """What the index says of it."""
        return ShardFile(name, self._size, self._digest.hexdigest())


def _sources(
    plan: Plan, pieces: list[Piece], chunks: list[int], place: Place
) -> Iterator[SourceLine]:
    """A line for each file of the corpus; one for all that arrived, whatever its parts are."""
    arrived = plan.encoding is not None and bool(plan.encoding.arrived)
    tokens = documents = 0
    current: int | None = None
    before = (0, 0)
    for chunk, piece in zip(chunks, pieces, strict=True):
        with place.opened(piece.name) as file:
            parts = list(piece.parts(file))
        for (index, _, _), (more, ended) in zip(plan.chunks[chunk], parts, strict=True):
            if current is None or (index != current and not arrived):
                if current is not None:
                    yield _line(plan, current, before, (tokens, documents))
                current, before = index, (tokens, documents)
            tokens, documents = tokens + more, documents + ended
    if current is not None:
        yield _line(plan, current, before, (tokens, documents))


def _line(plan: Plan, index: int, first: tuple[int, int], end: tuple[int, int]) -> SourceLine:
    arrived = plan.encoding is not None and bool(plan.encoding.arrived)
    return SourceLine(
        path=STANDARD_INPUT if arrived else plan.files[index].path,
        token=first[0],
        tokens=end[0] - first[0],
        document=first[1],
        documents=end[1] - first[1],
        source=plan.sources[plan.files.sources[index]].name,
    )
