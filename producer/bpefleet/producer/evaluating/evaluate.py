"""Evaluates tokenizers on a corpus, source by source.

In this process: reading, and the encoding of some megabytes at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.evaluating.corpus import parts_of
from bpefleet.producer.planning.options import DEFAULT_SPECIAL_TOKENS, DEFAULT_TEXT_FIELD
from bpefleet.producer.progress.step import Step
from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.measuring.batch import Batch
from bpefleet.shared.measuring.candidates import candidate_of, find_candidate
from bpefleet.shared.measuring.figures import Figures, figures
from bpefleet.shared.measuring.producible import never_produced
from bpefleet.shared.measuring.reading import read_documents
from bpefleet.shared.measuring.sums import Measured
from bpefleet.shared.process.amounts import of
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bpefleet.producer.evaluating.corpus import Part
    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.shared.measuring.candidates import Candidate

STAGE: Final = "evaluate"


class Judged(Message, frozen=True):
    """A tokenizer.

    Attributes:
        name: Its name.
        vocabulary: Tokens, special ones included.
        never_produced: The ids that no text is encoded with; None if its tokens are no bytes.
    """

    name: str
    vocabulary: int
    never_produced: list[int] | None


class OnSource(Message, frozen=True):
    """A source.

    Attributes:
        name: Its name.
        files: How many files it has.
        tokenizers: The figures of each tokenizer, in order.
    """

    name: str
    files: int
    tokenizers: list[Figures]


class Evaluation(Message, frozen=True):
    """What came of an evaluation.

    Attributes:
        tokenizers: The tokenizers.
        sources: The sources.
        total: All of them together.
    """

    tokenizers: list[Judged]
    sources: list[OnSource]
    total: OnSource


def evaluate(
    sources: Sequence[str],
    tokenizers: Sequence[str | Tokenizer],
    *,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    errors: str = "strict",
    format: str = "auto",  # noqa: A002  the option's name
    text_field: str = DEFAULT_TEXT_FIELD,
    show: Callable[[Step], object] = lambda _step: None,
) -> Evaluation:
    """Compare tokenizers on texts.

    All encode the same documents, each by itself, and special tokens in them are text like any
    other. The figures are sums over documents, and depend on nothing else.

    Args:
        sources: Files, folders or globs, as paths or URLs, each a source by itself; or one corpus
            file (`.toml`), whose weights are left out of account.
        tokenizers: Each a `Tokenizer`, or what `Tokenizer.load` takes. The others are compared with
            the first.
        special_tokens: What separates documents of plain text. It is part of none.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        format: As for `train`.
        text_field: Likewise.
        show: Called with how far it is.

    Raises:
        SourceError: A source cannot be read, or holds no text.
        OutputError: A tokenizer cannot be read.
        UsageError: No tokenizer is given, there is no such tokenizer, or one is given twice.
    """
    candidates = [_candidate(each, at) for at, each in enumerate(tokenizers, 1)]
    demand_different([one.name for one in candidates])
    parts = parts_of(sources, format, text_field)
    runner = _Runner(candidates, special_tokens, errors, sum(part.text for part in parts), show)
    each = [runner.of_part(part) for part in parts]
    return told(candidates, [(part.name, len(part.files)) for part in parts], each, show)


def told(
    candidates: Sequence[Candidate],
    sources: Sequence[tuple[str, int]],
    each: Sequence[Sequence[Measured]],
    show: Callable[[Step], object] = lambda _step: None,
) -> Evaluation:
    """What there is to tell of what was measured.

    Args:
        candidates: The tokenizers.
        sources: The sources: name, number of files.
        each: For each source the sums of each tokenizer.
        show: Called with how far it is.

    Raises:
        SourceError: No document was measured.
    """
    total = [_added(columns) for columns in zip(*each, strict=True)]
    if not total[0].documents:
        raise SourceError("the sources hold no text", hint="name others")
    show(Step(STAGE, facts=("looking for tokens that are never produced",)))
    return Evaluation(
        tokenizers=[
            Judged(one.name, one.size, never_produced(one, found.ids.keys()))
            for one, found in zip(candidates, total, strict=True)
        ],
        sources=[
            OnSource(name, files, _figures(candidates, found))
            for (name, files), found in zip(sources, each, strict=True)
        ],
        total=OnSource("all", sum(files for _, files in sources), _figures(candidates, total)),
    )


def demand_different(names: Sequence[str]) -> None:
    """Make sure that there are tokenizers, each once.

    Raises:
        UsageError: There are none, or one is given twice.
    """
    if not names:
        raise UsageError("no tokenizer is given", hint="name one or several")
    if len(set(names)) < len(names):
        raise UsageError("a tokenizer is given twice", hint="give each once")


def _candidate(given: str | Tokenizer, at: int) -> Candidate:
    if isinstance(given, Tokenizer):
        return candidate_of(given, f"tokenizer {at}")
    return find_candidate(given)


def _figures(candidates: Sequence[Candidate], measured: Sequence[Measured]) -> list[Figures]:
    return [figures(found, one.ordinary) for one, found in zip(candidates, measured, strict=True)]


def _added(measured: Sequence[Measured]) -> Measured:
    total = Measured()
    for one in measured:
        total = total.plus(one)
    return total


class _Runner:
    """Measures the candidates, source by source."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        special_tokens: Sequence[str],
        errors: str,
        total: int,
        show: Callable[[Step], object],
    ) -> None:
        self._batch = Batch(candidates)
        self._special_tokens = special_tokens
        self._errors = errors
        self._total = total
        self._show = show
        self._done = 0

    def of_part(self, part: Part) -> list[Measured]:
        """What each candidate makes of a source."""
        for file in part.files:
            self._show(Step(STAGE, self._done, self._total, (of(self._done, self._total),)))
            self._read(part, file)
            self._done += part.planned.taken(file.text)
        return self._batch.ended()

    def _read(self, part: Part, file: SourceFile) -> None:
        try:
            read_documents(
                file.segment(0, file.extent),
                self._batch.take,
                special_tokens=self._special_tokens,
                errors=self._errors,
                text_field=part.text_field,
                sampler=part.sampler(file),
            )
        except SourceError as error:
            if "--errors" in error.hint:
                error.hint = "repair the file, or measure it with --errors replace"
            raise
