"""Puts the counts of several files of a ledger into one, and says when it is time for that.

By tiers of size: only files of about one size are put together, some dozens at a time, and what
comes of them is larger, or there is less of it. So a byte is written again once for each tier that
it rises through: a logarithm of how much there is. Files are read in blocks and the new one is
streamed out, so that memory does not grow with them; where they are large, several threads take
turns at ranges of their hashes (see the kernel's `fold_files`).
"""

from __future__ import annotations

from array import array
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from bpefleet.kernel import KernelError, PayloadError, PayloadInfo, fold_files
from bpefleet.producer.files.atomic import TEMPORARY, replacing
from bpefleet.producer.store.ledgers.ledger_format import (
    FoldedHead,
    Totals,
    damaged,
    explained,
    payload_place,
)
from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

AT_ONCE: Final = 128
"""Files that are folded into one at the most; more in one step would be open."""
_SMALLEST: Final = 17
"""Files of fewer bits of size are of one tier: 128 KiB."""
_TIER: Final = 3
"""Bits of size to a tier: a factor of eight."""


class CountsFile(NamedTuple):
    """A file of the ledger.

    Attributes:
        path: Where it is.
        chunks: Whose counts it has.
        totals: Their sums.
        size: Bytes.
    """

    path: Path
    chunks: array[int]
    totals: Totals
    size: int


def due(files: Sequence[CountsFile], enough: int) -> list[CountsFile]:
    """The files to put together now: of the lowest tier that has enough, the oldest."""
    tiers: dict[int, list[CountsFile]] = {}
    for file in files:
        tier = max(file.size.bit_length() - _SMALLEST, 0) // _TIER
        tiers.setdefault(tier, []).append(file)
    return next((of[:AT_ONCE] for _, of in sorted(tiers.items()) if len(of) >= enough), [])


def put_together(
    target: Path,
    files: Sequence[CountsFile],
    digest: bytes,
    chunks: Iterable[int] | None = None,
) -> CountsFile:
    """Write a file with the counts of some, whole or not at all.

    Args:
        target: The new one's path, which is none of theirs.
        files: Those that it replaces, once they are removed.
        digest: What their counts depend on.
        chunks: The numbers that their chunks have there; without, those that they have.

    Raises:
        OutputError: One of them cannot be read or is damaged, or the disk is full or fails.
    """
    if chunks is None:
        chunks = chain.from_iterable(file.chunks for file in files)  # they have none in common
    totals = reduce(Totals.plus, (file.totals for file in files), Totals())
    found = tuple(sorted(chunks))
    head = FoldedHead(found, totals).to_bytes() + b"\n"
    places = payload_places([file.path for file in files])
    with replacing(target) as out:
        out.write(head)
        out.flush()
        with blamed([file.path for file in files]):
            written = target.with_name(target.name + TEMPORARY)
            info = fold_files(places, digest, written, len(head))
    return CountsFile(target, array("Q", found), totals, len(head) + info.raw_size)


def adopted(
    target: Path,
    head: FoldedHead,
    payloads: Sequence[Path],
    digest: bytes,
    demand: Callable[[PayloadInfo], None],
) -> tuple[CountsFile, PayloadInfo]:
    """Write a file with the counts in some payloads, whole or not at all; see `Ledger.adopt`."""
    line = head.to_bytes() + b"\n"
    unread: OSError | None = None
    try:
        with replacing(target) as out:
            out.write(line)
            out.flush()
            written = target.with_name(target.name + TEMPORARY)
            try:
                info = fold_files([(each, 0) for each in payloads], digest, written, len(line))
            except OSError as error:
                unread = error if vars(error).get("index", -1) >= 0 else None
                raise
            demand(info)
    except OutputError:
        if unread is not None:
            raise unread from None
        raise
    return CountsFile(target, array("Q", head.chunks), head.totals, len(line) + info.raw_size), info


def payload_places(paths: Sequence[Path]) -> list[tuple[Path, int]]:
    """Where the payloads in some files are, as the kernel wants it.

    Raises:
        OutputError: A file cannot be read, or is no file of a ledger.
    """
    places = []
    for path in paths:
        with explained(path):
            places.append((path, payload_place(path)))
    return places


@contextmanager
def blamed(paths: Sequence[Path]) -> Iterator[None]:
    """Within the block, in which these files are folded, have errors name the one they are of.

    Raises:
        OutputError: For those of the kernel, and those of reading.
    """
    try:
        yield
    except (KernelError, OSError) as error:
        index = vars(error).get("index", -1)
        # Some kinds have nothing to do with any one file.
        if index >= 0 and isinstance(error, PayloadError):
            raise damaged(paths[index], error) from error
        if isinstance(error, KernelError):
            what = f"the counts in {paths[0].parent} cannot be put together: {error}"
            raise OutputError(what) from error
        if index < 0:
            raise
        raise OutputError(f"{paths[index]} cannot be read: {error.strerror}") from error
