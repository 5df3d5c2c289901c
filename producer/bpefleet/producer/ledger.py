"""The ledger of folded chunks: each counted exactly once, whatever dies when.

    counts/part-<chunk>.counts   the payload of one chunk; that the file exists means *folded*
    counts/folded.counts         many chunks' counts in one, and which chunks these are

A file is one line of JSON, then a payload. Parts are folded into `folded.counts` as they pile up:
the new file names the chunks in it and replaces the old one in a single rename; only then are the
parts removed. A crash between the two leaves parts whose chunks `folded.counts` has already:
opening removes them unread. So no instant loses a chunk or counts one twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.kernel import Counts, PayloadError
from bpefleet.producer.files import remove_all, remove_temporary, write_atomically
from bpefleet.shared.errors import OutputError
from bpefleet.shared.messages import Counted, Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDED: Final = "folded.counts"
COMPACT_AT: Final = 64
"""Parts that are folded into one file."""
FEW_PARTS: Final = 4
"""Parts that are read again sooner than they are written as one."""


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
        counts: The counts of all folded chunks.
        chunks: Indexes of the folded chunks.
        totals: Their sums.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        """Open the ledger in `folder`, folding what is there.

        Raises:
            OutputError: A file is damaged or belongs to other text or options.
        """
        self.counts = Counts()
        self.chunks: set[int] = set()
        self.totals = Totals()
        self._folder = folder
        self._digest = bytes.fromhex(digest)
        self._parts: list[Path] = []
        remove_temporary(folder)
        if (folder / FOLDED).exists():
            with _reading(folder / FOLDED) as (facts, payload):
                self.counts.fold_payload(payload, self._digest)
                self.chunks.update(facts["chunks"])
                self.totals = Totals.from_json(facts["totals"])
        for part in sorted(folder.glob("part-*.counts")):
            chunk = int(part.stem.removeprefix("part-"))
            if chunk in self.chunks:
                part.unlink()
                continue
            with _reading(part) as (facts, payload):
                self.counts.fold_payload(payload, self._digest)
                self._note(chunk, Counted.from_json(facts), part)

    def add(self, chunk: int, counted: Counted, payload: bytes) -> bool:
        """Fold one chunk, on disk first. False if it was folded before.

        Raises:
            PayloadError: The payload is damaged or not of this run; nothing was changed.
            OutputError: The disk is full or fails; nothing was changed.
        """
        if chunk in self.chunks:
            return False
        Counts.payload_info(payload)
        part = self._folder / f"part-{chunk:08}.counts"
        # On disk first: a chunk in memory only would be lost by a crash after its payload's end.
        write_atomically(part, orjson.dumps(counted.to_json()), b"\n", payload)
        try:
            self.counts.fold_payload(payload, self._digest)
        except PayloadError:
            part.unlink()
            raise
        self._note(chunk, counted, part)
        if len(self._parts) >= COMPACT_AT:
            self.compact()
        return True

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
        facts = {"chunks": sorted(self.chunks), "totals": self.totals.to_json()}
        payload = self.counts.encode(self._digest)
        write_atomically(self._folder / FOLDED, orjson.dumps(facts), b"\n", payload)
        remove_all(self._parts)
        self._parts = []

    def _note(self, chunk: int, counted: Counted, part: Path) -> None:
        self.chunks.add(chunk)
        self.totals = self.totals.plus(counted)
        self._parts.append(part)


@contextmanager
def _reading(path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Read a file of the ledger, and say of any error in using it that the file is damaged."""
    try:
        line, _, payload = path.read_bytes().partition(b"\n")
        yield orjson.loads(line), payload
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except (PayloadError, MessageError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{path} is damaged: {error}",
            hint="remove that file: its chunks are counted again on resume",
        ) from error
