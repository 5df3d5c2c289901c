"""The files of a ledger (see `ledger`): one line of JSON, then a payload."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.kernel import KernelError
from bpefleet.producer.files.atomic import open_regular
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD
from bpefleet.shared.wire.messages import Counted, Int, Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

FOLDED: Final = "folded.counts"
_FOLDED_OF: Final = "folded-{:04}.counts"
_MANY: Final = "folded*.counts"
_PARTS: Final = "part-*.counts"
_GROUP: Final = "group-{:08}.counts"
_GROUPS: Final = "group-*.counts"
_JOINED: Final = "joined-{:08}-{}.counts"
_JOINS: Final = "joined-*.counts"
_LONGEST_HEAD: Final = 1 << 26
"""Bytes of the first line: the numbers of some eight million chunks."""
_LARGEST: Final = 1 << 56
"""The largest sum that is believed. A hundred of these still fit 64 bits."""
_SUMMED: Final = (
    "bytes_read",
    "pretokens",
    "replaced",
    "unmatched",
    "seconds",
    "peak_rss",
    "records",
    "absent",
)


class DamagedError(OutputError):
    """A file of the ledger is not what was written."""


class Totals(Message, frozen=True):
    """Sums over folded chunks.

    Attributes:
        bytes_read: Bytes of text.
        pretokens: Pre-tokens counted.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes that the regex matched nowhere.
        seconds: Wall time of all counting jobs together.
        peak_rss: The greatest peak resident memory of a counting job, bytes.
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
    """

    bytes_read: Int = 0
    pretokens: Int = 0
    replaced: Int = 0
    unmatched: Int = 0
    seconds: float = 0.0
    peak_rss: Int = 0
    records: Int = 0
    absent: Int = 0

    def plus(self, more: Counted | Totals) -> Totals:
        """These totals and some more."""
        return Totals(
            self.bytes_read + more.bytes_read,
            self.pretokens + more.pretokens,
            self.replaced + more.replaced,
            self.unmatched + more.unmatched,
            self.seconds + more.seconds,
            max(self.peak_rss, more.peak_rss),
            self.records + more.records,
            self.absent + more.absent,
        )


class FoldedHead(Message, frozen=True):
    """The first line of a file with many chunks' counts: the chunks in it, and their sums."""

    chunks: tuple[Int, ...]
    totals: Totals


def folded_name(source: int) -> str:
    """What the file is called that has many chunks of a source."""
    return _FOLDED_OF.format(source) if source else FOLDED


def part_name(chunk: int) -> str:
    """What the file is called that has one chunk."""
    return f"part-{chunk:08}.counts"


def group_name(chunks: Iterable[int]) -> str:
    """What the file is called that has some chunks of a source, which were added together."""
    return _GROUP.format(min(chunks))


def joined_name(chunks: Collection[int]) -> str:
    """What the file is called that several files were put together into.

    It is called after its first chunk and how many it has: no two files with some of the same
    chunks have one name, so that none ever takes the place of one that is being read.
    """
    return _JOINED.format(min(chunks), len(chunks))


def is_folded(path: Path) -> bool:
    """Whether a file of the ledger has all chunks of a source that were there when it was made."""
    return path.name.startswith("folded")


def is_part(path: Path) -> bool:
    """Whether a file of the ledger has one chunk."""
    return path.name.startswith("part-")


def files_in(folder: Path) -> list[Path]:
    """The ledger's files, with many chunks first: these may be in parts as well.

    An empty list if there is no folder: it may be removed once the run is done.

    Raises:
        OutputError: The folder is a link, or something else that is no folder.
    """
    with explained(folder):
        if not os.path.lexists(folder):
            return []
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise DamagedError(f"{folder} is not a folder", hint="put the folder back in its place")
        parts = [*folder.glob(_GROUPS), *folder.glob(_PARTS)]
        numbered = sorted(part for part in parts if part.stem.partition("-")[2].isdecimal())
        return [*sorted(folder.glob(_MANY)), *sorted(folder.glob(_JOINS)), *numbered]


def said_by(path: Path, chunks: int | None) -> tuple[set[int], Counted | Totals]:
    """The chunks in a file of the ledger, and their sums.

    Args:
        path: The file.
        chunks: How many the run has, if known.
    """
    with _opened(path) as file:
        head = _head(file)
    said: Counted | Totals
    if is_part(path):
        found, said = {first_of(path)}, Counted.from_bytes(head)
    else:
        folded = FoldedHead.from_bytes(head)
        found, said = set(folded.chunks), folded.totals
        named = {group_name(found), joined_name(found)} if found else set()
        if not is_folded(path) and path.name not in named:
            raise ValueError("it has other chunks than its name says")
    if odd := [n for n in found if n < 0 or (chunks is not None and n >= chunks)]:
        raise ValueError(f"the run has no chunk {odd[0]}")
    if not all(0 <= getattr(said, name) < _LARGEST for name in _SUMMED):
        raise ValueError("its numbers are out of all bounds")
    return found, said


def payload_place(path: Path) -> int:
    """How many bytes of a file of the ledger are before its payload."""
    with _opened(path) as file:
        start = len(_head(file))
        size = os.fstat(file.fileno()).st_size - start
    if is_part(path) and size > LARGEST_PAYLOAD:
        raise ValueError(f"{size:,} bytes are more than the counts of a chunk can be")
    return start


@contextmanager
def _opened(path: Path, buffering: int = -1) -> Iterator[BinaryIO]:
    try:
        descriptor = open_regular(path)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EISDIR):  # nothing that was written
            raise ValueError(error.strerror) from error
        raise
    with os.fdopen(descriptor, "rb", buffering) as file:
        yield file


def _head(file: BinaryIO) -> bytes:
    line = file.readline(_LONGEST_HEAD)
    if not line.endswith(b"\n"):
        raise ValueError("its first line has no end")
    return line


def first_of(part: Path) -> int:
    """The first chunk of a part or group, from its name: all others are where this one is."""
    return int(part.stem.partition("-")[2])


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Within the block, have errors name the file.

    Raises:
        OutputError: For `OSError`, and where memory is too small.
        DamagedError: For what only damaged bytes can cause.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except MemoryError:
        raise OutputError(f"{path} does not fit into memory") from None
    except (KernelError, ValueError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> DamagedError:
    """The error for a file that is not what was written."""
    hint = "resume the run: it is counted again"
    return DamagedError(f"{path} is damaged: {error}", hint=hint)
