"""The ledger of folded chunks: each counted exactly once, whatever dies when.

    counts/part-<chunk>.counts     the payload of one chunk; that the file exists means *folded*
    counts/group-<chunk>.counts    likewise of several small chunks, of which that is the first
    counts/joined-<chunk>-<number>.counts
                                   several files' counts in one, of so many chunks
    counts/folded.counts           all counts of runs that were added up
    counts/folded-<source>.counts  the same of a mixture's other sources

A file is one line of JSON, then a payload. That of many chunks names them. As files pile up, those
of about one size are folded into one (`compaction`): the new file names all their chunks, and gets
its name in a single rename; only then are they removed.

**What a crash leaves.** A file is there whole or not at all, so a crash leaves, beside a new file,
some of those that it replaced. Each of these has some of its chunks and no other: all files that
ever were there are disjoint, or one has all chunks of the other. So opening takes files in order,
the one with the most chunks first, and removes those whose chunks are all in one that it took. No
instant loses a chunk or counts one twice. A file with some chunks that another has, and some that
it has not, was never written: it is damaged. Where opening reads all to the end (`mend`), it does
so before it removes what a file replaced: if that file is damaged, they stand.

No file has counts of two sources, so that they can be added up by other weights than they were.

No counts are kept in memory: a payload is in hash order, and to fold some is to merge sorted files,
a block of each at a time.
"""

from __future__ import annotations

import logging
from array import array
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import FoldedCounts, PayloadError, PayloadInfo, check_file
from bpefleet.producer.files.atomic import remove_all, remove_temporary, write_atomically
from bpefleet.producer.planning.columns.chunk_set import ChunkSet
from bpefleet.producer.store.ledgers.compaction import (
    CountsFile,
    adopted,
    blamed,
    due,
    payload_places,
    put_together,
)
from bpefleet.producer.store.ledgers.ledger_format import (
    FoldedHead,
    Totals,
    explained,
    folded_name,
    group_name,
    is_folded,
    joined_name,
    part_name,
    payload_place,
)
from bpefleet.producer.store.ledgers.plausible import checked
from bpefleet.producer.store.ledgers.standing import Standing
from bpefleet.producer.store.ledgers.unique_estimate import Distinct
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.messages import Counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path


logger = logging.getLogger(__name__)

COMPACT_AT: Final = 64
"""Files of about one size that are folded into one."""


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
        untidy: Whether it is time for `tidy`.
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
        self.chunks = ChunkSet()
        self.totals = Totals()
        self.by_source: dict[int, Totals] = {}
        self.still = Lock()
        self.untidy = False
        self._compacting = Lock()
        self._distinct = Distinct()
        self._folder = folder
        self._digest = bytes.fromhex(digest)
        self._sources = sources
        self._files: dict[int, list[CountsFile]] = {}
        with explained(folder):
            check = self._check if mend else None
            standing = Standing(folder, chunks, self._demand_in_place, check)
            if tidy:
                remove_temporary(folder)
            for file in standing:
                self._note(file, [])
            if tidy:
                remove_all(standing.replaced)

    @property
    def tokens(self) -> int:
        """None: nothing is encoded. As for `settled.Settled`."""
        return 0

    documents = tokens

    @property
    def unique(self) -> int:
        """About how many different pre-tokens there are in the chunks that this process folded."""
        return self._distinct.estimate

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
                found = _Checked(chunk, counted, payload, checked(counted, payload, self._digest))
            except PayloadError as error:
                wrong.append(error)
                continue
            wrong.append(None)
            if chunk not in self.chunks:
                sources.setdefault(self._source_of(chunk), []).append(found)
        for source, of_source in sources.items():
            self._put(source, of_source)
        return wrong

    def _put(self, source: int, found: Sequence[_Checked]) -> None:
        """Write some chunks of a source as a part or a group."""
        first, chunks = found[0], {each.chunk for each in found}
        totals: Counted | Totals = first.counted
        name, head, payload = part_name(first.chunk), first.counted.to_bytes(), first.payload
        if len(found) > 1:
            totals = reduce(Totals.plus, (each.counted for each in found), Totals())
            head = FoldedHead(tuple(sorted(chunks)), totals).to_bytes()
            payload = FoldedCounts([each.payload for each in found], self._digest).payload
            name = group_name(chunks)
        path = self._folder / name
        try:
            write_atomically(path, head, b"\n", payload)
        except OutputError:
            with suppress(OSError):  # it may have its name already
                path.unlink(missing_ok=True)
            raise
        sums, size = Totals().plus(totals), len(head) + 1 + len(payload)
        with self.still:
            made = CountsFile(path, array("Q", chunks), sums, size)
            self._note(made, [each.info for each in found])
            self.untidy |= bool(due(self._files[source], COMPACT_AT))

    def tidy(self) -> None:
        """Put files together as far as it is time for that: beside whoever shows or adds.

        One thread does so at a time; another returns at once.

        Raises:
            OutputError: As `compact`.
        """
        if not self._compacting.acquire(blocking=False):
            return
        try:
            self.untidy = False
            for source in [*self._files]:
                while files := self._due(source):
                    self._join(source, files)
        finally:
            self._compacting.release()

    def _due(self, source: int) -> list[CountsFile]:
        with self.still:
            return due(self._files[source], COMPACT_AT)

    def adopt(
        self,
        chunks: Collection[int],
        totals: Totals,
        payloads: Sequence[Path],
        demand: Callable[[PayloadInfo], None],
    ) -> None:
        """Put in the counts of chunks of one source that were put together elsewhere, as a group.

        Args:
            chunks: Which: none that is here.
            totals: Their sums.
            payloads: Files that have their counts.
            demand: Called with what these come to; raises `PayloadError` if it cannot be right.

        Raises:
            PayloadError: One of the payloads is damaged, or what `demand` says.
            CountOverflow: The counts do not fit.
            OSError: A payload cannot be read.
            OutputError: The disk is full or fails.
        """
        path, found = self._folder / group_name(chunks), tuple(sorted(chunks))
        made, info = adopted(path, FoldedHead(found, totals), payloads, self._digest, demand)
        with self.still:
            self._note(made, [info])

    def folded(self, times: Sequence[int] = ()) -> FoldedCounts:
        """The counts of all folded chunks together.

        Args:
            times: For each source how often its counts count, 0 to leave it out; without, once.

        Raises:
            OutputError: A file cannot be read, is damaged, or belongs to other text or options; or
                the sum of all counts needs more than 64 bits.
        """
        paths, each = [], []
        for source, found in sorted(self._files.items()):
            if often := times[source] if times else 1:
                paths += [file.path for file in found]
                each += [often] * len(found)
        places = payload_places(paths)
        with blamed([*paths, self._folder]):
            return FoldedCounts.of_files(places, self._digest, each)

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
            files: list[CountsFile] = []
            chunks: set[int] = set()
            for ledger, shift, numbers in ledgers:
                for source in (old for old, new in enumerate(numbers) if new == target):
                    found = ledger._files.get(source, ())  # noqa: SLF001  our own
                    files += found
                    chunks |= {shift + chunk for file in found for chunk in file.chunks}
            if files or not target:
                digest = ledgers[0][0]._digest  # noqa: SLF001  likewise
                put_together(folder / folded_name(target), files, digest, chunks)

    def compact(self, source: int = 0) -> None:
        """Put all counts of a source into one file and remove the others.

        What is added meanwhile stays in a file of its own.

        Raises:
            OutputError: As `folded`, or the disk is full or fails; then all is as it was.
        """
        with self.still:
            files = [*self._files.get(source, ())]
        if len(files) > 1:
            self._join(source, files)

    def _join(self, source: int, files: Sequence[CountsFile]) -> None:
        """Put some files of a source into one, and remove them."""
        chunks = array("Q", chain.from_iterable(file.chunks for file in files))
        target = self._folder / joined_name(chunks)
        try:
            made = put_together(target, files, self._digest)
        except OutputError:
            with suppress(OSError):  # it may have its name already
                target.unlink(missing_ok=True)
            raise
        with self.still:
            left = [file for file in self._files[source] if file not in files]
            self._files[source] = [made, *left]
        remove_all([file.path for file in files])
        logger.debug("the counts of %d chunks are in one file", len(made.chunks))

    def _source_of(self, chunk: int) -> int:
        return self._sources[chunk] if self._sources else 0

    def _check(self, file: CountsFile) -> None:
        """Read a file to its end.

        Raises:
            PayloadError: It is damaged.
        """
        info = check_file(file.path, payload_place(file.path), self._digest)
        self._distinct.see(info.least_hashes)

    def _demand_in_place(self, file: CountsFile) -> None:
        """Refuse what is not where this class writes it: it would be weighted wrongly, or twice.

        Raises:
            ValueError: A file has counts of several sources, or of another one than its name says.
        """
        names = {folded_name(source) for source in set(map(self._source_of, file.chunks))}
        if len(names) > 1 or (is_folded(file.path) and names - {file.path.name}):
            raise ValueError("it has counts of another source")

    def _note(self, file: CountsFile, infos: Sequence[PayloadInfo]) -> None:
        self.chunks.update(file.chunks)
        self.totals = self.totals.plus(file.totals)
        source = self._source_of(min(file.chunks, default=0))
        self.by_source[source] = self.by_source.get(source, Totals()).plus(file.totals)
        self._files.setdefault(source, []).append(file)
        for info in infos:
            self._distinct.see(info.least_hashes)
