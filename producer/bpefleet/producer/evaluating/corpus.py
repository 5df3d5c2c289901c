"""The sources that tokenizers are evaluated on: what training takes, each by itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.kernel import Sampler
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.listing import list_corpus
from bpefleet.producer.planning.mixture.corpus_file import is_corpus_file, read_corpus_file
from bpefleet.producer.planning.mixture.source import PlannedSource
from bpefleet.producer.planning.options import STANDARD_INPUT, Options, Request
from bpefleet.shared.corpus.sampling import seed_of
from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Part:
    """A source.

    Attributes:
        name: What it is called: its name in a corpus file, else as it was given.
        files: Its files.
        text_field: Where its records have their text.
        planned: Which of its documents are taken.
    """

    name: str
    files: tuple[SourceFile, ...]
    text_field: str
    planned: PlannedSource

    @property
    def text(self) -> int:
        """Bytes of text, as expected."""
        return sum(self.planned.taken(file.text) for file in self.files)

    def sampler(self, file: SourceFile) -> Sampler | None:
        """What takes the documents of a file; None if all are taken."""
        if not self.planned.sampled:
            return None
        return Sampler(seed_of(self.planned.name, file.name), self.planned.share)


def parts_of(sources: Sequence[str], asked: str, text_field: str) -> list[Part]:
    """The sources: those of a corpus file, whose weights mean nothing here; or each path.

    Raises:
        SourceError: As `find_files`.
        UsageError: Likewise; or one is standard input, or is given twice.
    """
    if STANDARD_INPUT in sources:
        raise UsageError(
            "standard input cannot be evaluated on",
            hint="save it to a file first; a file called - is ./-",
        )
    if is_corpus_file(sources):
        options = Options(vocab_size=0, text_field=text_field)
        mixture = read_corpus_file(sources[0])
        request = Request((), Path(os.devnull), options, format=asked, mixture=mixture)
        planned, files = list_corpus(request, lambda: None)
        return [
            Part(
                source.name,
                tuple(file for file in files if file.source == index),
                source.text_field or text_field,
                source,
            )
            for index, source in enumerate(planned)
        ]
    if len(set(sources)) < len(sources):
        raise UsageError("a source is given twice", hint="give each once")
    return [
        Part(
            source,
            tuple(find_files([source], asked=asked, text_field=text_field)),
            text_field,
            PlannedSource(),
        )
        for source in sources
    ]
