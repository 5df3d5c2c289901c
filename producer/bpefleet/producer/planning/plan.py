"""The plan of a run: what is counted, in which chunks, how. Written once, never changed.

The plan of a corpus that still arrives grows in memory, and is written when everything has arrived.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from msgspec.structs import replace

from bpefleet.kernel import FORMAT_VERSION
from bpefleet.kernel.segments import engine
from bpefleet.producer.planning.mixture.source import PlannedSource
from bpefleet.producer.planning.mixture.weights import Scale
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.sources import SourceFile
from bpefleet.producer.planning.unchanged import changed_file, demand_unchanged
from bpefleet.shared.corpus.formats import KNOWN, ROWS, compression_of
from bpefleet.shared.errors import SourceError
from bpefleet.shared.pretokens.patterns import counting_digest, resolve
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.messages import (
    CountSpec,
    Failed,
    Int,
    Message,
    MessageError,
    Natural,
    Sample,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.wire.messages import Segment

PLAN_VERSION: Final = 5
_MOST: Final = 1 << 56
"""Bytes: no corpus has so many, and a sum of such numbers still fits 64 bits."""
_RUN: Final = re.compile(r"[A-Za-z0-9_-]+")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class AnyPlan(Message, frozen=True, forbid_unknown_fields=False):
    """What plans of all versions have."""

    version: Int


class Plan(Message, frozen=True):
    """What a run counts.

    Attributes:
        version: `PLAN_VERSION` of the program that made it.
        run: The run's name, unique: letters, digits and `-`.
        options: What decides the tokenizer.
        files: The corpus.
        chunks: For each chunk its segments: index into `files`, start, end (bytes, or rows of
            a table).
        payload_version: The kernel's payload format.
        digest: Hex digest of what the counts depend on; every payload carries it.
        engine: The scanner and its Unicode version.
        sources: The corpus's sources. No chunk has text of two.
    """

    version: Int
    run: str
    options: Options
    files: list[SourceFile]
    chunks: list[tuple[tuple[Natural, Natural, Natural], ...]]
    payload_version: Int
    digest: str
    engine: str
    sources: tuple[PlannedSource, ...] = (PlannedSource(),)

    @classmethod
    def make(
        cls,
        options: Options,
        files: list[SourceFile],
        chunks: Sequence[tuple[Segment, ...]],
        sources: tuple[PlannedSource, ...] = (PlannedSource(),),
    ) -> Plan:
        """Plan a new run."""
        pattern = resolve(options.pattern)
        index = {file.path: i for i, file in enumerate(files)}
        begins = defaultdict(list)
        for segment in chain.from_iterable(chunks):
            if segment.start and compression_of(segment.format):
                begins[segment.path].append(segment.start)
        files = [
            replace(file, frames=tuple(begins[file.path])) if file.path in begins else file
            for file in files
        ]
        runs_on = engine(pattern.name if pattern.native else None)
        digest = counting_digest(pattern, options.special_tokens, runs_on)
        return cls(
            version=PLAN_VERSION,
            run=os.urandom(6).hex(),
            options=options,
            files=files,
            chunks=[tuple((index[s.path], s.start, s.end) for s in c) for c in chunks],
            payload_version=FORMAT_VERSION,
            digest=digest.hex(),
            engine=runs_on,
            sources=sources,
        )

    def checked(self) -> Self:
        """This plan, if it hangs together.

        Raises:
            MessageError: It does not.
            UsageError: Its options make no sense.
        """
        self.options.checked()
        if not (_RUN.fullmatch(self.run) and _DIGEST.fullmatch(self.digest)):
            raise MessageError("Plan: odd run or digest")
        self._check_sources()
        if any("\0" in file.path for file in self.files) or self.total_bytes >= _MOST:
            raise MessageError("Plan.files: a name or a size that no file has")
        if any(file.format not in KNOWN for file in self.files):
            raise MessageError("Plan.files: a format that is not read")
        extents = [file.extent for file in self.files]
        count = len(extents)
        for chunk in self.chunks:
            if not chunk or not all(i < count and a < b <= extents[i] for i, a, b in chunk):
                raise MessageError("Plan.chunks: a chunk is empty or lies outside the files")
        if any(len({self.files[i].source for i, _, _ in chunk}) > 1 for chunk in self.chunks):
            raise MessageError("Plan.chunks: a chunk of two sources")
        for chunk in self.chunks:
            if not all(self.files[i].may_be_cut_at(place) for i, *ends in chunk for place in ends):
                raise MessageError("Plan.chunks: a part of a compressed file amid a frame")
        return self

    def grow(self, file: SourceFile) -> None:
        """Add a chunk that has arrived: a file by itself. What was planned before stays.

        Another thread may be counting: the chunk is there once its file is.
        """
        self.files.append(file)
        self.chunks.append(((len(self.files) - 1, 0, file.extent),))

    def _check_sources(self) -> None:
        if any(file.source >= len(self.sources) for file in self.files):
            raise MessageError("Plan.files: a source that there is none of")
        if not any(source.checked().fraction for source in self.sources):
            raise MessageError("Plan.sources: all weights are 0")
        if any(file.name and file.frames for file in self.files):
            raise MessageError("Plan.files: a part of a compressed file that is sampled")

    @property
    def total_bytes(self) -> int:
        """Bytes of text to count: of plain text that is taken whole exactly, else as expected."""
        return sum(self.sources[file.source].taken(file.text) for file in self.files)

    @property
    def is_mixture(self) -> bool:
        """Whether its sources have names."""
        return any(source.name for source in self.sources)

    @property
    def chunk_sources(self) -> tuple[int, ...]:
        """For each chunk the index of its source."""
        return tuple(self.files[chunk[0][0]].source for chunk in self.chunks)

    @property
    def scale(self) -> Scale:
        """The weights of the sources as whole numbers."""
        return Scale.of([source.fraction for source in self.sources])

    def source_of(self, chunk: int) -> PlannedSource:
        """The source of a chunk."""
        return self.sources[self.files[self.chunks[chunk][0][0]].source]

    def spec(self, chunk: int, errors: str = "") -> CountSpec:
        """What a worker is told of a chunk; `errors` in place of what the plan says of them."""
        segments = tuple(self.files[i].segment(a, b) for i, a, b in self.chunks[chunk])
        source = self.source_of(chunk)
        return CountSpec(
            segments=segments,
            pattern=self.options.pattern,
            special_tokens=self.options.special_tokens,
            errors=errors or self.options.errors,
            digest=self.digest,
            text_field=source.text_field or self.options.text_field,
            sample=self._sample(chunk, source) if source.sampled else None,
        )

    def _sample(self, chunk: int, source: PlannedSource) -> Sample:
        names = tuple(self.files[i].name for i, _, _ in self.chunks[chunk])
        return Sample(source.name, source.share, names)

    def chunk_bytes(self, chunk: int) -> int:
        """Bytes of text to count in a chunk: exactly or as expected, as for `total_bytes`."""
        return self.source_of(chunk).taken(self.chunk_text(chunk))

    def chunk_text(self, chunk: int) -> int:
        """Bytes of text in a chunk, with what a sample leaves out."""
        files = self.files
        return sum(files[i].text_to(b) - files[i].text_to(a) for i, a, b in self.chunks[chunk])

    def describe(self, chunk: int) -> str:
        """A chunk in words: `corpus.txt [64.0-96.0 MiB]`, `a.parquet [rows 0-1,000]`."""
        first, start, end = self.chunks[chunk][0]
        file = self.files[first]
        name = Path(file.path).name
        if (more := len(self.chunks[chunk]) - 1) > 0:
            return f"{name} and {more} more"
        if file.format in ROWS:
            return f"{name} [rows {start:,}-{end:,}]"
        where = f"{start / 2**20:.1f}-{end / 2**20:.1f} MiB"
        if not compression_of(file.format):
            return f"{name} [{where}]"
        return name if end - start == file.size else f"{name} [{where}, compressed]"

    def changed(self, chunk: int) -> Failed | None:
        """Whether a source of a chunk is not what was planned, as a failure of that chunk.

        Asked before its counts are folded: those of another text must never get into the ledger,
        for the old text may come back, with its old time, and the run be resumed.
        """
        files = [self.files[index] for index in sorted({i for i, _, _ in self.chunks[chunk]})]
        remote = [file for file in files if is_url(file.path)]
        for some in (*([file] for file in files if not is_url(file.path)), remote):
            with suppress(OSError, SourceError):  # that it cannot be read its next reader will say
                if (file := changed_file(some)) is not None:
                    text = f"{file.path} has changed since the run was planned"
                    return Failed("SourceChangedError", text)
        return None

    def check_files(self) -> None:
        """Check that the corpus is what it was.

        Raises:
            SourceError: A file is gone.
            SourceChangedError: A file has another size or time of change.
        """
        demand_unchanged(self.files)
