"""A plan as it is written: JSON, laid out in lines, of which the first tells all but the corpus.

    {"version":6,"run":…,"options":…,"totals":…,
    "files":[
    {"folder":"/data/","names":["a.txt","b.txt"],"sizes":[5,7],"mtimes":[…,…]},
    {"folder":"/data/c/",…}
    ],"chunks":[
    [0,5],[1,7],
    [2,1048576]
    ]
    }

A chunk is written as its end, a file's index and a place in it, and begins where the one before
ended. So those who need only totals read a line, and nobody reads a file of the corpus before it is
asked for.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final

from msgspec import json

from bpefleet.producer.planning.columns.chunks import Chunks
from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.columns.group import Group
from bpefleet.shared.wire.messages import MessageError, Natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.planning.columns.corpus import Corpus

_FILES: Final = b'"files":[\n'
_CHUNKS: Final = b'],"chunks":[\n'
_END: Final = b"]\n"
_AFTER: Final = b"}\n"
_MORE: Final = b",\n"
_TOGETHER: Final = 500
"""Chunks of a line at the most."""
_ENDS: Final = json.Decoder(list[tuple[Natural, Natural]])


def written(head: bytes, corpus: Corpus) -> Iterator[bytes]:
    """The lines of a plan.

    Args:
        head: What comes before the corpus, as JSON.
        corpus: The corpus.
    """
    yield head[:-1] + _MORE
    yield _FILES
    yield from _separated(group.to_bytes() for group in corpus.files.groups())
    yield _CHUNKS
    ends = corpus.chunks.ends
    parts = (ends[at : at + _TOGETHER] for at in range(0, len(ends), _TOGETHER))
    yield from _separated(json.encode(part)[1:-1] for part in parts)
    yield _END
    yield _AFTER


def head_of(line: bytes) -> bytes:
    """What comes before the corpus, as JSON, by the first line of a plan of any version."""
    return line.removesuffix(_MORE) + b"}" if line.endswith(_MORE) else line


def demand_whole(file: BinaryIO) -> None:
    """Check, without reading it all, that a file ends as a plan does.

    Raises:
        MessageError: It does not.
    """
    file.seek(0, os.SEEK_END)
    end = _END + _AFTER
    file.seek(max(0, file.tell() - len(end)))
    if file.read() != end:
        raise MessageError("Plan: it ends too early")


def corpus_in(lines: Iterator[bytes]) -> tuple[Files, Chunks]:
    """The corpus of a plan, by the lines after the first one.

    Raises:
        MessageError: They are not what `written` writes.
    """
    files = Files()
    for group in groups_in(lines):
        files.extend(group)
    chunks = Chunks(files)
    for line in _section(lines, _END):
        try:
            ends = _ENDS.decode(b"[%b]" % line)
        except ValueError as error:
            raise MessageError(f"Plan.chunks: {error}") from error
        for index, place in ends:
            chunks.append(index, place)
    if [*islice(lines, 2)] != [_AFTER]:
        raise MessageError("Plan: its end is not where it should be")
    return files, chunks


def groups_in(lines: Iterator[bytes]) -> Iterator[Group]:
    """The files of a plan, by the lines after the first one.

    Raises:
        MessageError: They are not what `written` writes.
    """
    if next(lines, None) != _FILES:
        raise MessageError("Plan.files: they do not begin")
    for line in _section(lines, _CHUNKS):
        yield Group.from_bytes(line).checked()


def _separated(items: Iterable[bytes]) -> Iterator[bytes]:
    before = b""
    for item in items:
        yield before + item
        before = _MORE
    yield b"\n" if before else b""


def _section(lines: Iterator[bytes], end: bytes) -> Iterator[bytes]:
    """The lines up to that which ends a section, without what separates them."""
    for line in lines:
        if line == end:
            return
        yield line.removesuffix(_MORE)
    raise MessageError("Plan: it ends too early")
