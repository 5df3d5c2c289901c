"""The ledger of folded chunks: each counted exactly once, whatever dies when.

    counts/part-<chunk>.counts     the payload of one chunk; that the file exists means *folded*
    counts/group-<chunk>.counts    likewise of several small chunks, of which that is the first
    counts/folded.counts           many chunks' counts in one, and which chunks these are
    counts/folded-<source>.counts  the same of a mixture's other sources

A file is one line of JSON, then a payload. Parts and groups are folded into `folded.counts` as they
pile up: the new file names the chunks in it and replaces the old one in a single rename; only then
are the parts removed. A crash between the two leaves parts whose chunks `folded.counts` has
already: opening removes them unread. So no instant loses a chunk or counts one twice.

No file has counts of two sources, so that they can be added up by other weights than they were.

No counts are kept in memory: a payload is in hash order, and to fold some is to merge sorted files.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import Counts, FoldedCounts, KernelError, PayloadError, PayloadInfo
from bpefleet.producer.files.atomic import remove_all, remove_temporary, write_atomically
from bpefleet.producer.store.ledger_format import (
    DamagedError,
    FoldedHead,
    Totals,
    damaged,
    explained,
    files_in,
    first_of,
    folded_name,
    group_name,
    is_folded,
    part_name,
    payload_in,
    said_by,
)
from bpefleet.producer.store.unique_estimate import Distinct
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD
from bpefleet.shared.wire.messages import Counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path


logger = logging.getLogger(__name__)

COMPACT_AT: Final = 64
"""Files that are folded into one."""
_MOST: Final = 1 << 50
"""More bytes, or seconds, than any chunk or process has."""
_UNTRUE: Final = "its totals cannot be true"


@dataclass(frozen=True, slots=True)
class _Checked:
    """A chunk that may be folded."""

    chunk: int
    counted: Counted
    payload: bytes
    info: PayloadInfo


class Ledger:
    """The folded chunks of a run.

    Threads may add different chunks at once.

    Attributes:
        chunks: Indexes of the folded chunks.
        totals: Their sums.
        by_source: Their sums by source, of those that have any.
        still: Held while these change, for a moment each time.
    """

    def __init__(
        self,
        folder: Path,
        digest: str,
        *,
        chunks: int | None = None,
        sources: Sequence[int] = (),
        mend: bool = False,
        tidy: bool = True,
    ) -> None:
        """Open the ledger in `folder`.

        Args:
            folder: Where it is.
            digest: What its counts must depend on, hex (see `patterns.counting_digest`).
            chunks: How many the run has, if known: a file of any other does not belong to it.
            sources: For each chunk its source; without, there is one.
            mend: Whether to read every file to its end, and to set a damaged one aside with a
                warning, so that its chunks are counted again. Otherwise `folded` finds the damage.
            tidy: Whether to remove what a crash left: not if another process may be writing there.

        Raises:
            OutputError: A file cannot be read, or says nothing that makes sense.
        """
        self.chunks: set[int] = set()
        self.totals = Totals()
        self.by_source: dict[int, Totals] = {}
        self.still = Lock()
        self._compacting = Lock()
        self._distinct = Distinct()
        self._folder = folder
        self._digest = bytes.fromhex(digest)
        self._sources = sources
        self._files: dict[int, list[Path]] = {}
        with explained(folder):
            known = files_in(folder)
            if tidy:
                remove_temporary(folder)
            for path in known:
                if is_folded(path) or first_of(path) not in self.chunks:
                    self._open(path, chunks, mend=mend)
                elif tidy:
                    path.unlink()

    @property
    def unique(self) -> int:
        """About how many different pre-tokens there are in the chunks that this process folded."""
        return self._distinct.estimate

    def add(self, chunk: int, counted: Counted, payload: bytes) -> bool:
        """Fold one chunk. False if it was folded before.

        Raises:
            PayloadError: As `add_together` returns it.
            OutputError: As `add_together`.
        """
        if chunk in self.chunks:
            return False
        for wrong in self.add_together([(chunk, counted, payload)]):
            if wrong is not None:
                raise wrong
        return True

    def add_together(
        self, items: Sequence[tuple[int, Counted, bytes]]
    ) -> list[PayloadError | None]:
        """Fold chunks, several with one write for each source. What was folded before stays so.

        Args:
            items: Different chunks, each with what its worker said of it, and its payload.

        Returns:
            For each what is wrong with its payload, if anything: it is damaged, not of this run,
            not what the worker said, or holds more than a chunk can; then it is not folded.

        Raises:
            OutputError: The disk is full or fails. What is in `chunks` is folded all the same.
        """
        wrong: list[PayloadError | None] = []
        sources: dict[int, list[_Checked]] = {}
        for chunk, counted, payload in items:
            try:
                found = _Checked(chunk, counted, payload, self._checked(counted, payload))
            except PayloadError as error:
                wrong.append(error)
                continue
            wrong.append(None)
            if chunk not in self.chunks:
                sources.setdefault(self._source_of(chunk), []).append(found)
        for of_source in sources.values():
            self._put(of_source)
        return wrong

    def _checked(self, counted: Counted, payload: bytes) -> PayloadInfo:
        """What a payload says of itself, if it may be folded.

        Raises:
            PayloadError: It may not.
        """
        demand_plausible(counted)
        info = Counts.check_payload(
            payload,
            self._digest,
            max_bytes=LARGEST_PAYLOAD,
            max_entries=counted.bytes_read,
            max_text=counted.text_bytes,
        )
        _demand_fit(counted, info)
        return info

    def _put(self, found: Sequence[_Checked]) -> None:
        """Write some chunks of a source as a part or a group; compact if it is time for that."""
        first, chunks = found[0], {each.chunk for each in found}
        totals: Counted | Totals = first.counted
        name, head, payload = part_name(first.chunk), first.counted.to_bytes(), first.payload
        if len(found) > 1:
            totals = reduce(Totals.plus, (each.counted for each in found), Totals())
            head = FoldedHead(tuple(sorted(chunks)), totals).to_bytes()
            payload = FoldedCounts([each.payload for each in found], self._digest).payload
            name = group_name(chunks)
        file = self._folder / name
        try:
            write_atomically(file, head, b"\n", payload)
        except OutputError:
            with suppress(OSError):  # it may have its name already
                file.unlink(missing_ok=True)
            raise
        source = self._source_of(first.chunk)
        with self.still:
            self._note(file, chunks, totals, [each.info for each in found])
            due = len(self._files[source]) >= COMPACT_AT
        # One thread at a time, and none that shows or adds has to wait for it.
        if due and self._compacting.acquire(blocking=False):
            try:
                self.compact(source)
            finally:
                self._compacting.release()

    def adopt(self, chunks: Collection[int], totals: Totals, payload: bytes) -> None:
        """Put in the counts of chunks of one source that were put together elsewhere, as a group.

        Args:
            chunks: Which: none that is here.
            totals: Their sums.
            payload: Their counts, checked.

        Raises:
            OutputError: The disk is full or fails.
        """
        info = Counts.check_payload(payload, self._digest)
        file = self._folder / group_name(chunks)
        head = FoldedHead(tuple(sorted(chunks)), totals)
        write_atomically(file, head.to_bytes(), b"\n", payload)
        with self.still:
            self._note(file, set(chunks), totals, [info])

    def folded(self, times: Sequence[int] = ()) -> FoldedCounts:
        """The counts of all folded chunks together.

        Args:
            times: For each source how often its counts count, 0 to leave it out; without, once.

        Raises:
            OutputError: A file cannot be read, is damaged, or belongs to other text or options; or
                the sum of all counts needs more than 64 bits.
        """
        files, each = [], []
        for source, found in sorted(self._files.items()):
            if often := times[source] if times else 1:
                files += found
                each += [often] * len(found)
        return self._together(files, each)

    @staticmethod
    def add_up(folder: Path, ledgers: Sequence[tuple[Ledger, int, Sequence[int]]]) -> None:
        """Write the counts of some ledgers into another's folder, one file for each source.

        Args:
            folder: The other's.
            ledgers: Those of one digest, each with what is added to the numbers of its chunks, and
                the number that each of its sources gets.

        Raises:
            OutputError: As `folded`, or the disk is full or fails.
        """
        for target in sorted({new for _, _, numbers in ledgers for new in numbers}):
            files: list[Path] = []
            chunks: set[int] = set()
            totals = Totals()
            for ledger, shift, numbers in ledgers:
                for source in (old for old, new in enumerate(numbers) if new == target):
                    files += ledger._files.get(source, ())  # noqa: SLF001  our own
                    chunks |= {shift + chunk for chunk in ledger._chunks_of(source)}  # noqa: SLF001
                    totals = totals.plus(ledger.by_source.get(source, Totals()))
            if files or not target:
                ledgers[0][0]._write(folder / folded_name(target), files, chunks, totals)  # noqa: SLF001

    def compact(self, source: int = 0) -> None:
        """Put all counts of a source into one file and remove its parts.

        What is added meanwhile stays a part.

        Raises:
            OutputError: As `folded`, or the disk is full or fails; then the parts are still there.
        """
        target = self._folder / folded_name(source)
        with self.still:
            files, chunks = [*self._files.get(source, ())], self._chunks_of(source)
            totals = self.by_source.get(source, Totals())
        self._write(target, files, chunks, totals)
        with self.still:
            self._files[source] = [target, *self._files.get(source, [])[len(files) :]]
        remove_all([path for path in files if path != target])
        logger.debug("the counts of %d chunks are in one file", len(chunks))

    def _source_of(self, chunk: int) -> int:
        return self._sources[chunk] if self._sources else 0

    def _chunks_of(self, source: int) -> set[int]:
        return {chunk for chunk in self.chunks if self._source_of(chunk) == source}

    def _write(self, target: Path, files: list[Path], chunks: set[int], totals: Totals) -> None:
        head = FoldedHead(tuple(sorted(chunks)), totals)
        write_atomically(target, head.to_bytes(), b"\n", self._together(files).payload)

    def _together(self, files: list[Path], times: Sequence[int] | None = None) -> FoldedCounts:
        payloads = []
        for path in files:
            with explained(path):
                payloads.append(payload_in(path))
        try:
            return FoldedCounts(payloads, self._digest, times)
        except KernelError as error:
            # Some kinds have nothing to do with any one file.
            index = vars(error).get("index")
            if isinstance(error, PayloadError) and index is not None:
                raise damaged(files[index], error) from error
            what = f"the counts in {self._folder} cannot be put together: {error}"
            raise OutputError(what) from error

    def _open(self, path: Path, chunks: int | None, *, mend: bool) -> None:
        try:
            with explained(path):
                found, totals = said_by(path, chunks)
                self._demand_in_place(path, found)
                infos = [Counts.check_payload(payload_in(path), self._digest)] if mend else []
        except DamagedError as error:
            if not mend:
                raise
            path.replace(path.with_name(f"damaged-{path.name}"))
            logger.warning("%s; it is set aside and its chunks are counted again", error.message)
        else:
            self._note(path, found, totals, infos)

    def _demand_in_place(self, path: Path, found: set[int]) -> None:
        """Refuse what is not where this class writes it: it would be weighted wrongly, or twice.

        Raises:
            ValueError: A file has counts of several sources, or of another one than its name says.
        """
        names = {folded_name(self._source_of(chunk)) for chunk in found}
        if len(names) > 1 or (is_folded(path) and names - {path.name}):
            raise ValueError("it has counts of another source")

    def _note(
        self,
        path: Path,
        chunks: set[int],
        totals: Counted | Totals,
        infos: Sequence[PayloadInfo],
    ) -> None:
        self.chunks |= chunks
        self.totals = self.totals.plus(totals)
        source = self._source_of(min(chunks, default=0))
        self.by_source[source] = self.by_source.get(source, Totals()).plus(totals)
        self._files.setdefault(source, []).append(path)
        for info in infos:
            self._distinct.see(info.least_hashes)


def demand_plausible(counted: Counted) -> None:
    """Refuse numbers that no chunk can have, before they are added to the sums.

    Raises:
        PayloadError: Numbers are out of all bounds.
    """
    read = counted.bytes_read
    bounded = 0 <= counted.seconds < _MOST and 0 <= counted.peak_rss < _MOST and 0 <= read < _MOST
    parts = all(0 <= n <= read for n in (counted.replaced, counted.unmatched))
    if not (bounded and parts and 0 <= counted.absent <= counted.records < _MOST):
        raise PayloadError(_UNTRUE)


def _demand_fit(counted: Counted, info: PayloadInfo) -> None:
    """Refuse a payload that differs from its message, or counts more than a chunk can hold.

    Raises:
        PayloadError: It is so.
    """
    fits = (counted.pretokens, counted.unique) == (info.pretokens, info.unique)
    # No pre-token is empty, so that the sum of all is bounded by the corpus.
    if not (fits and info.pretokens <= counted.bytes_read):
        raise PayloadError(_UNTRUE)
