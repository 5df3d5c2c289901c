"""The ledger of folded chunks: each counted exactly once, whatever dies when.

    counts/part-<chunk>.counts   the payload of one chunk; that the file exists means *folded*
    counts/folded.counts         many chunks' counts in one, and which chunks these are

A file is one line of JSON, then a payload. Parts are folded into `folded.counts` as they pile up:
the new file names the chunks in it and replaces the old one in a single rename; only then are the
parts removed. A crash between the two leaves parts whose chunks `folded.counts` has already:
opening removes them unread. So no instant loses a chunk or counts one twice.

In memory, the counts follow the disk with a delay (`catch_up`): a payload that was checked to its
end can be folded at any time. At the end of counting nobody waits for it, since the trainer, a
process of its own, reads the files.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.kernel import Counts, KernelError, PayloadError
from bpefleet.producer.files import remove_all, remove_temporary, write_atomically
from bpefleet.shared.errors import OutputError
from bpefleet.shared.keys import LARGEST_PAYLOAD
from bpefleet.shared.messages import Counted, Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bpefleet.kernel import PayloadInfo

FOLDED: Final = "folded.counts"
PARTS: Final = "part-*.counts"
COMPACT_AT: Final = 64
"""Parts that are folded into one file."""
_MOST: Final = 1 << 50
"""Bytes, or seconds, that no chunk and no process has."""
_GROWTH: Final = 3
"""Bytes of a pre-token to a byte of text, at most: U+FFFD in place of one that is not UTF-8."""
FEW_PARTS: Final = 4
"""Parts that are read again sooner than they are written as one."""


class DamagedError(OutputError):
    """A file of the ledger is not what was written."""


@dataclass(frozen=True, slots=True)
class Totals(Message):
    """Sums over folded chunks.

    Attributes:
        bytes_read: Bytes of text.
        pretokens: Pre-tokens counted.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes that the regex matched nowhere.
        seconds: Wall time of all counting jobs together.
        peak_rss: The greatest peak resident memory of a counting job, bytes.
    """

    bytes_read: int = 0
    pretokens: int = 0
    replaced: int = 0
    unmatched: int = 0
    seconds: float = 0.0
    peak_rss: int = 0

    def plus(self, more: Counted | Totals) -> Totals:
        """These totals and some more."""
        return Totals(
            self.bytes_read + more.bytes_read,
            self.pretokens + more.pretokens,
            self.replaced + more.replaced,
            self.unmatched + more.unmatched,
            self.seconds + more.seconds,
            max(self.peak_rss, more.peak_rss),
        )


class Ledger:
    """The folded chunks of a run, on disk and in memory.

    Not for use by two threads at once.

    Attributes:
        counts: The counts of the folded chunks, as of the last `catch_up`.
        chunks: Indexes of the folded chunks.
        totals: Their sums.
    """

    def __init__(
        self, folder: Path, digest: str, *, mend: Callable[[str], None] | None = None
    ) -> None:
        """Open the ledger in `folder`, folding what is there.

        Args:
            folder: Where it is.
            digest: What its counts must depend on, hex (see `patterns.counting_digest`).
            mend: If given, a damaged file is set aside, so that its chunks are counted again, and
                `mend` is told; otherwise it is an error.

        Raises:
            OutputError: A file cannot be read, is damaged, or belongs to other text or options.
        """
        self.counts = Counts()
        self.chunks: set[int] = set()
        self.totals = Totals()
        self._folder = folder
        self._digest = bytes.fromhex(digest)
        self._parts: list[Path] = []
        self._behind: list[Path] = []
        remove_temporary(folder)
        if (folder / FOLDED).exists():
            self._open(folder / FOLDED, self._read_folded, mend)
        for part in _parts_in(folder):
            if _chunk_of(part) in self.chunks:
                part.unlink()
            else:
                self._open(part, self._read_part, mend)

    def add(self, chunk: int, counted: Counted, payload: bytes) -> bool:
        """Fold one chunk, on disk. False if it was folded before.

        Raises:
            PayloadError: The payload is damaged, not of this run, not what `counted` says, or holds
                more than a chunk of so many bytes can; nothing was changed.
            OutputError: The disk is full or fails; nothing was changed.
        """
        if chunk in self.chunks:
            return False
        info = Counts.check_payload(
            payload,
            self._digest,
            max_bytes=LARGEST_PAYLOAD,
            max_entries=counted.bytes_read,
            max_pretoken=_GROWTH * counted.bytes_read,
        )
        _demand_plausible(counted, info)
        part = self._folder / f"part-{chunk:08}.counts"
        write_atomically(part, orjson.dumps(counted), b"\n", payload)
        self._behind.append(part)
        self._note(chunk, counted, part)
        if len(self._parts) >= COMPACT_AT:
            self.compact()
        return True

    def catch_up(self) -> None:
        """Bring the counts in memory up to the files.

        Raises:
            OutputError: A file cannot be read again.
        """
        while self._behind:
            with _explained(self._behind[-1]):
                _facts, payload = _split(self._behind[-1])
                self.counts.fold_payload(payload, self._digest)
            self._behind.pop()

    def absorb(self, chunk: int, counts: Counts, totals: Totals) -> None:
        """Fold one chunk in memory only; `compact` puts it on disk."""
        self.counts.fold(counts)
        self.chunks.add(chunk)
        self.totals = self.totals.plus(totals)

    def settle(self) -> None:
        """Leave the counts as the next reader wants them: many parts in one file."""
        if len(self._parts) > FEW_PARTS:
            self.compact()

    def compact(self) -> None:
        """Put all counts into one file and remove the parts."""
        self.copy_to(self._folder)
        remove_all(self._parts)
        self._parts = []

    def copy_to(self, folder: Path) -> None:
        """Write all counts into a ledger's folder, as one file."""
        self.catch_up()
        facts = {"chunks": sorted(self.chunks), "totals": self.totals.to_json()}
        payload = self.counts.encode(self._digest)
        write_atomically(folder / FOLDED, orjson.dumps(facts), b"\n", payload)

    def forget(self) -> None:
        """Free the counts' memory; what is on disk stays."""
        self.counts = Counts()
        self._behind = []

    def _open(
        self, path: Path, read: Callable[[Path], None], mend: Callable[[str], None] | None
    ) -> None:
        try:
            read(path)
        except DamagedError as error:
            if mend is None:
                raise
            path.replace(path.with_name(f"damaged-{path.name}"))
            mend(f"{error.message}; it is set aside and its chunks are counted again")

    def _read_folded(self, path: Path) -> None:
        with _explained(path):
            facts, payload = _split(path)
            chunks, totals = _chunks(facts), Totals.from_json(facts["totals"])
            self.counts.fold_payload(payload, self._digest)
            self.chunks, self.totals = chunks, totals

    def _read_part(self, path: Path) -> None:
        with _explained(path):
            facts, payload = _split(path)
            counted = Counted.from_json(facts)
            self.counts.fold_payload(payload, self._digest)
            self._note(_chunk_of(path), counted, path)

    def _note(self, chunk: int, counted: Counted, part: Path) -> None:
        self.chunks.add(chunk)
        self.totals = self.totals.plus(counted)
        self._parts.append(part)


def _demand_plausible(counted: Counted, info: PayloadInfo) -> None:
    """Refuse what no count of a chunk can say, before its numbers spoil the sums.

    Raises:
        PayloadError: It does not fit its payload, or numbers are out of all bounds.
    """
    read = counted.bytes_read
    fits = (counted.pretokens, counted.unique) == (info.pretokens, info.unique)
    bounded = 0 <= counted.seconds < _MOST and 0 <= counted.peak_rss < _MOST
    # No pre-token is empty, so that the sum of all is bounded by the corpus.
    bounded = bounded and info.pretokens <= read < _MOST
    if not (
        fits and bounded and all(0 <= n <= read for n in (counted.replaced, counted.unmatched))
    ):
        raise PayloadError("its totals cannot be true")


def read_index(folder: Path) -> tuple[set[int], Totals]:
    """Which chunks are folded, and their sums, without reading the counts themselves.

    Raises:
        OutputError: A file is damaged.
    """
    chunks: set[int] = set()
    totals = Totals()
    if (folder / FOLDED).exists():
        with _facts(folder / FOLDED) as facts:
            chunks.update(_chunks(facts))
            totals = Totals.from_json(facts["totals"])
    for part in _parts_in(folder):
        # A run that goes may have compacted it just now.
        if (chunk := _chunk_of(part)) not in chunks and part.exists():
            with _facts(part) as facts:
                totals = totals.plus(Counted.from_json(facts))
                chunks.add(chunk)
    return chunks, totals


def _parts_in(folder: Path) -> list[Path]:
    return sorted(part for part in folder.glob(PARTS) if part.stem[len("part-") :].isdecimal())


def _chunks(facts: dict[str, Any]) -> set[int]:
    if odd := [chunk for chunk in facts["chunks"] if type(chunk) is not int]:
        raise ValueError(f"{odd[0]!r} is no chunk")
    return set(facts["chunks"])


def _chunk_of(part: Path) -> int:
    return int(part.stem.removeprefix("part-"))


@contextmanager
def _facts(path: Path) -> Iterator[dict[str, Any]]:
    """The first line of a file of the ledger."""
    with _explained(path), path.open("rb") as file:
        yield orjson.loads(file.readline())


def _split(path: Path) -> tuple[dict[str, Any], bytes]:
    """A file of the ledger: its first line and its payload."""
    line, _, payload = path.read_bytes().partition(b"\n")
    return orjson.loads(line), payload


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except (KernelError, MessageError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(
            f"{path} is damaged: {error}", hint="resume the run: it is counted again"
        ) from error
