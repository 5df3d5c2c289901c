"""The ledger of folded chunks: each counted exactly once, whatever dies when.

    counts/part-<chunk>.counts   the payload of one chunk; that the file exists means *folded*
    counts/folded.counts         many chunks' counts in one, and which chunks these are

A file is one line of JSON, then a payload. Parts are folded into `folded.counts` as they pile up:
the new file names the chunks in it and replaces the old one in a single rename; only then are the
parts removed. A crash between the two leaves parts whose chunks `folded.counts` has already:
opening removes them unread. So no instant loses a chunk or counts one twice.

No counts are kept in memory: a payload is in hash order, and to fold some is to merge sorted files.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

import orjson

from bpefleet.kernel import Counts, FoldedCounts, KernelError, PayloadError
from bpefleet.producer.distinct import Distinct
from bpefleet.producer.files import remove_all, remove_temporary, write_atomically
from bpefleet.producer.ledger_files import (
    FOLDED,
    DamagedError,
    Totals,
    chunk_of,
    damaged,
    explained,
    files_in,
    payload_in,
    said_by,
)
from bpefleet.shared.keys import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bpefleet.kernel import PayloadInfo
    from bpefleet.shared.messages import Counted

COMPACT_AT: Final = 64
"""Files that are folded into one."""
_MOST: Final = 1 << 50
"""Bytes, or seconds, that no chunk and no process has."""
_UNTRUE: Final = "its totals cannot be true"


class Ledger:
    """The folded chunks of a run.

    Threads may add different chunks at once.

    Attributes:
        chunks: Indexes of the folded chunks.
        totals: Their sums.
        still: Held while these change.
    """

    def __init__(
        self, folder: Path, digest: str, *, mend: Callable[[str], None] | None = None
    ) -> None:
        """Open the ledger in `folder`.

        Args:
            folder: Where it is.
            digest: What its counts must depend on, hex (see `patterns.counting_digest`).
            mend: If given, every file is read to its end, a damaged one is set aside, so that its
                chunks are counted again, and `mend` is told; otherwise `folded` finds the damage.

        Raises:
            OutputError: A file cannot be read, or says nothing that makes sense.
        """
        self.chunks: set[int] = set()
        self.totals = Totals()
        self.still = Lock()
        self._distinct = Distinct()
        self._folder = folder
        self._digest = bytes.fromhex(digest)
        self._files: list[Path] = []
        remove_temporary(folder)
        for path in files_in(folder):
            if path.name != FOLDED and chunk_of(path) in self.chunks:
                path.unlink()
            else:
                self._open(path, mend)

    @property
    def unique(self) -> int:
        """About how many different pre-tokens the chunks hold that this process saw counted."""
        return self._distinct.estimate

    def add(self, chunk: int, counted: Counted, payload: bytes) -> bool:
        """Fold one chunk. False if it was folded before.

        Raises:
            PayloadError: The payload is damaged, not of this run, not what `counted` says, or holds
                more than a chunk of so many bytes can; nothing was changed.
            OutputError: The disk is full or fails; nothing was changed.
        """
        if chunk in self.chunks:
            return False
        _demand_plausible(counted)
        info = Counts.check_payload(
            payload,
            self._digest,
            max_bytes=LARGEST_PAYLOAD,
            max_entries=counted.bytes_read,
            max_text=counted.text_bytes,
        )
        _demand_fit(counted, info)
        part = self._folder / f"part-{chunk:08}.counts"
        write_atomically(part, orjson.dumps(counted), b"\n", payload)
        with self.still:
            self._note(part, {chunk}, counted, info)
            if len(self._files) >= COMPACT_AT:
                self.compact()
        return True

    def folded(self) -> FoldedCounts:
        """The counts of all folded chunks together.

        Raises:
            OutputError: A file cannot be read, is damaged, or belongs to other text or options.
        """
        payloads = []
        for path in self._files:
            with explained(path):
                payloads.append(payload_in(path))
        try:
            return FoldedCounts(payloads, self._digest)
        except KernelError as error:
            raise damaged(self._files[error.index], error) from error

    def copy_to(self, folder: Path) -> None:
        """Write all counts into a ledger's folder, as one file."""
        facts = {"chunks": sorted(self.chunks), "totals": self.totals.to_json()}
        write_atomically(folder / FOLDED, orjson.dumps(facts), b"\n", self.folded().payload)

    def compact(self) -> None:
        """Put all counts into one file and remove the parts."""
        self.copy_to(self._folder)
        remove_all([path for path in self._files if path.name != FOLDED])
        self._files = [self._folder / FOLDED]

    def _open(self, path: Path, mend: Callable[[str], None] | None) -> None:
        try:
            with explained(path):
                chunks, totals = said_by(path)
                info = Counts.check_payload(payload_in(path), self._digest) if mend else None
        except DamagedError as error:
            if mend is None:
                raise
            path.replace(path.with_name(f"damaged-{path.name}"))
            mend(f"{error.message}; it is set aside and its chunks are counted again")
        else:
            self._note(path, chunks, totals, info)

    def _note(
        self, path: Path, chunks: set[int], totals: Counted | Totals, info: PayloadInfo | None
    ) -> None:
        self.chunks |= chunks
        self.totals = self.totals.plus(totals)
        self._files.append(path)
        if info is not None:
            self._distinct.see(info.least_hashes)


def _demand_plausible(counted: Counted) -> None:
    """Refuse what no count of a chunk can say, before its numbers spoil the sums.

    Raises:
        PayloadError: Numbers are out of all bounds.
    """
    read = counted.bytes_read
    bounded = 0 <= counted.seconds < _MOST and 0 <= counted.peak_rss < _MOST and 0 <= read < _MOST
    if not (bounded and all(0 <= n <= read for n in (counted.replaced, counted.unmatched))):
        raise PayloadError(_UNTRUE)


def _demand_fit(counted: Counted, info: PayloadInfo) -> None:
    """Refuse a payload that is not what was told of it, or counts more than a chunk has.

    Raises:
        PayloadError: It is so.
    """
    fits = (counted.pretokens, counted.unique) == (info.pretokens, info.unique)
    # No pre-token is empty, so that the sum of all is bounded by the corpus.
    if not (fits and info.pretokens <= counted.bytes_read):
        raise PayloadError(_UNTRUE)
