"""The plan of a run: what is counted, in which chunks, how. Written once, never changed.

The plan of a corpus that still arrives grows in memory, and is written when everything has arrived.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from bpefleet.kernel import FORMAT_VERSION
from bpefleet.kernel.segments import engine
from bpefleet.producer.planning.columns.checks import check_corpus
from bpefleet.producer.planning.columns.corpus import Corpus, Totals
from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.columns.lines import corpus_in, head_of, written
from bpefleet.producer.planning.mixture.source import PlannedSource
from bpefleet.producer.planning.mixture.weights import Scale
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.unchanged import changed_file, demand_unchanged
from bpefleet.shared.corpus.formats import ROWS, compression_of
from bpefleet.shared.errors import SourceError
from bpefleet.shared.pretokens.patterns import counting_digest, resolve
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.encoding import MEASURED, EncodeSpec, Encoding
from bpefleet.shared.wire.kinds import COUNT, ENCODE, EVALUATE, Kind
from bpefleet.shared.wire.messages import CountSpec, Failed, Int, Message, MessageError, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.planning.columns.chunks import Chunks
    from bpefleet.producer.planning.columns.corpus import Load
    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.shared.wire.messages import Segment

PLAN_VERSION: Final = 6
_MOST: Final = 1 << 56
"""Bytes: no corpus has so many, and a sum of such numbers still fits 64 bits."""
_RUN: Final = re.compile(r"[A-Za-z0-9_-]+")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class AnyPlan(Message, frozen=True, forbid_unknown_fields=False):
    """What plans of all versions have."""

    version: Int


class Head(Message, frozen=True):
    """What a plan says before its files and chunks: see `Plan`.

    Attributes:
        totals: Of the corpus.
    """

    version: Int
    run: str
    options: Options
    payload_version: Int
    digest: str
    engine: str
    sources: tuple[PlannedSource, ...]
    totals: Totals
    encoding: Encoding | None = None

    def checked(self) -> Self:
        """This head, if it hangs together.

        Raises:
            MessageError: It does not.
            UsageError: Its options make no sense.
        """
        self.options.checked()
        if not (_RUN.fullmatch(self.run) and _DIGEST.fullmatch(self.digest)):
            raise MessageError("Plan: odd run or digest")
        if not any(source.checked().fraction for source in self.sources):
            raise MessageError("Plan.sources: all weights are 0")
        if self.totals.bytes >= _MOST:
            raise MessageError("Plan.totals: more than there is")
        return self


class Plan(Struct, frozen=True, dict=True):
    """What a run counts.

    Attributes:
        version: `PLAN_VERSION` of the program that made it.
        run: The run's name, unique: letters, digits and `-`.
        options: What decides the tokenizer.
        payload_version: The kernel's payload format.
        digest: Hex digest of what the counts depend on; every payload carries it.
        engine: The scanner and its Unicode version.
        corpus: The files and the chunks.
        sources: The corpus's sources. No chunk has text of two.
        encoding: What to make of it, if its chunks are encoded and not counted.
    """

    version: int
    run: str
    options: Options
    payload_version: int
    digest: str
    engine: str
    corpus: Corpus
    sources: tuple[PlannedSource, ...] = (PlannedSource(),)
    encoding: Encoding | None = None

    @classmethod
    def make(
        cls,
        options: Options,
        files: Iterable[SourceFile],
        chunks: Iterable[Sequence[Segment]],
        sources: tuple[PlannedSource, ...] = (PlannedSource(),),
        encoding: Encoding | None = None,
    ) -> Self:
        """Plan a new run.

        Args:
            options: What decides the tokenizer.
            files: The corpus.
            chunks: The segments of each chunk; together all of the corpus, in order.
            sources: The corpus's sources.
            encoding: What to make of it, if it is not to be counted.
        """
        pattern = resolve(options.pattern)
        corpus = _divided(files if isinstance(files, Files) else Files(files), chunks)
        runs_on = engine(pattern.name if pattern.native else None)
        digest = counting_digest(pattern, options.special_tokens, runs_on)
        return cls(
            version=PLAN_VERSION,
            run=os.urandom(6).hex(),
            options=options,
            payload_version=FORMAT_VERSION,
            digest=digest.hex(),
            engine=runs_on,
            corpus=corpus,
            sources=sources,
            encoding=encoding,
        )

    @classmethod
    def of(cls, head: Head, load: Load) -> Self:
        """The plan with this head, whose corpus is read when it is asked for."""
        facts = {name: getattr(head, name) for name in Head.__struct_fields__ if name != "totals"}
        return cls(corpus=Corpus(load, head.totals), **facts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a plan as it is written.

        Raises:
            MessageError: It is not what `lines` gives, or does not hang together.
            UsageError: Its options make no sense.
        """
        lines = iter(data.splitlines(keepends=True))
        head = Head.from_bytes(head_of(next(lines, b""))).checked()
        files, chunks = corpus_in(lines)
        check_corpus(files, chunks, head.sources, head.totals)
        return cls.of(head, lambda: (files, chunks))

    def checked(self) -> Self:
        """This plan, if its files and chunks hang together.

        Raises:
            MessageError: They do not.
        """
        check_corpus(self.files, self.chunks, self.sources)
        return self

    @property
    def lines(self) -> Iterator[bytes]:
        """The plan as it is written."""
        head = Head(
            self.version,
            self.run,
            self.options,
            self.payload_version,
            self.digest,
            self.engine,
            self.sources,
            self.corpus.totals(self.sources),
            self.encoding,
        )
        return written(head.to_bytes(), self.corpus)

    @cached_property
    def files(self) -> Files:
        """The corpus's files."""
        return self.corpus.files

    @cached_property
    def chunks(self) -> Chunks:
        """For each chunk its segments: index into `files`, start, end (bytes, or rows)."""
        return self.corpus.chunks

    @property
    def chunk_count(self) -> int:
        """How many chunks there are. Unlike `chunks`, this is known without reading them."""
        return self.corpus.chunk_count

    def grow(self, *files: SourceFile) -> None:
        """Add chunks that have arrived, each a file by itself. What was planned before stays.

        Another thread may be counting: a chunk is there once all these files are.
        """
        first = len(self.files)
        for file in files:
            self.files.append(file)
        for index, file in enumerate(files, first):
            self.chunks.append(index, file.extent)

    @property
    def totals(self) -> Totals:
        """The corpus's totals. Unlike `files`, they are known without reading these."""
        return self.corpus.totals(self.sources)

    @property
    def total_bytes(self) -> int:
        """Bytes of text to count: of plain text that is taken whole exactly, else as expected."""
        return self.totals.bytes

    @property
    def is_mixture(self) -> bool:
        """Whether its sources have names."""
        return any(source.name for source in self.sources)

    @property
    def chunk_sources(self) -> tuple[int, ...]:
        """For each chunk the index of its source."""
        return tuple(source for source, count in self.totals.chunks_of for _ in range(count))

    @property
    def scale(self) -> Scale:
        """The weights of the sources as whole numbers."""
        return Scale.of([source.fraction for source in self.sources])

    def spec(self, chunk: int, errors: str = "") -> CountSpec:
        """What a worker is told of a chunk; `errors` in place of what the plan says of them."""
        parts = [(self.files[i], start, end) for i, start, end in self.chunks[chunk]]
        source = self.sources[parts[0][0].source]
        names = tuple(file.name for file, _, _ in parts)
        return CountSpec(
            segments=tuple(file.segment(start, end) for file, start, end in parts),
            pattern=self.options.pattern,
            special_tokens=self.options.special_tokens,
            errors=errors or self.options.errors,
            digest=self.digest,
            text_field=source.text_field or self.options.text_field,
            sample=Sample(source.name, source.share, names) if source.sampled else None,
        )

    @property
    def kind(self) -> Kind:
        """What is done with its chunks."""
        if self.encoding is None:
            return COUNT
        return EVALUATE if self.encoding.format == MEASURED else ENCODE

    def encode_spec(self, chunk: int, errors: str = "") -> EncodeSpec:
        """What a worker is told of a chunk that it is to encode; likewise."""
        if (encoding := self.encoding) is None:  # pragma: no cover
            raise AssertionError
        # Of a text that arrived only the last part ends a document.
        last = len(self.files) - 1 if encoding.arrived == "text" else 0
        return EncodeSpec(
            text=self.spec(chunk, errors),
            ends=tuple(
                i >= last and self.files.extents[i] == end for i, _, end in self.chunks[chunk]
            ),
            place=encoding.place,
            tokenizer=encoding.tokenizer,
            width=encoding.width,
            separator=encoding.separator,
        )

    def chunk_bytes(self, chunk: int) -> int:
        """Bytes of text to count in a chunk: exactly or as expected, as for `total_bytes`."""
        first, _ = self.chunks.begin(chunk)
        return self.sources[self.files.sources[first]].taken(self.chunk_text(chunk))

    def chunk_text(self, chunk: int) -> int:
        """Bytes of text in a chunk, with what a sample leaves out."""
        parts = ((self.files[i], start, end) for i, start, end in self.chunks[chunk])
        return sum(file.text_to(end) - file.text_to(start) for file, start, end in parts)

    def describe(self, chunk: int) -> str:
        """A chunk in words: `corpus.txt [64.0-96.0 MiB]`, `a.parquet [rows 0-1,000]`."""
        (first, start, end), *more = self.chunks[chunk]
        file = self.files[first]
        name = file.path.rpartition("/")[2]
        if more:
            return f"{name} and {len(more)} more"
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
        files = [self.files[index] for index, _, _ in self.chunks[chunk]]
        remote = [file for file in files if is_url(file.path)]
        local = [[file] for file in files if not is_url(file.path)]
        for some in [*local, remote] if remote else local:
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


def _divided(files: Files, chunks: Iterable[Sequence[Segment]]) -> Corpus:
    """The corpus of files in these chunks; where parts of compressed files begin is noted."""
    ends, index = [], 0
    begins: defaultdict[int, list[int]] = defaultdict(list)
    for chunk in chunks:
        for segment in chunk:
            if segment.start and compression_of(segment.format):
                begins[index].append(segment.start)
            place, extent = segment.end, files.extents[index]
            ended, index = index, index + (place == extent)
        ends.append((ended, place))
    for compressed, places in begins.items():
        files.set_frames(compressed, tuple(places))
    return Corpus.of(files, ends)
