"""An evaluation as tables: sources down, tokenizers across; compression first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bpefleet.producer.reports.document import Table
from bpefleet.shared.measuring.figures import Ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bpefleet.producer.evaluating.evaluate import Evaluation, OnSource
    from bpefleet.shared.measuring.figures import Figures


class Matrix(NamedTuple):
    """A figure of each tokenizer on each source.

    Attributes:
        name: Its name among the figures.
        caption: What it is.
        percent: Whether it is told in per cent.
    """

    name: str
    caption: str
    percent: bool = False


COMPRESSION: Final = Matrix("bytes_per_token", "Bytes per token; more are fewer tokens")
MATRICES: Final = (
    COMPRESSION,
    Matrix("against_first", "Tokens by those of the first tokenizer"),
    Matrix("tokens_per_word", "Tokens per word (fertility)"),
    Matrix("continued_words", "Words that are divided among tokens", percent=True),
    Matrix("characters_per_token", "Characters per token"),
    Matrix("renyi_efficiency", "Rényi efficiency (α = 2.5)"),
    Matrix("unused", "Part of the vocabulary that does not occur", percent=True),
    Matrix("changed", "Documents that decoding does not give back"),
)


def rows_of(evaluation: Evaluation) -> list[OnSource]:
    """The sources, and all together if there are several."""
    total = [evaluation.total] if len(evaluation.sources) > 1 else []
    return [*evaluation.sources, *total]


def tables(evaluation: Evaluation) -> Iterator[Table]:
    """The tables, in order. Intervals have a confidence of 95 %."""
    names = tuple(one.name for one in evaluation.tokenizers)
    numbers = frozenset(range(1, 1 + len(names)))
    for matrix in MATRICES:
        if matrix.name == "against_first" and len(names) == 1:
            continue
        rows = (
            (row.name, *(_shown(getattr(one, matrix.name), matrix) for one in row.tokenizers))
            for row in rows_of(evaluation)
        )
        yield Table(matrix.caption, ("source", *names), tuple(rows), numbers)
    yield _sources(evaluation)
    yield _tokenizers(evaluation)


def _sources(evaluation: Evaluation) -> Table:
    facts: tuple[Callable[[Figures], int], ...] = (
        lambda one: one.documents,
        lambda one: one.bytes,
        lambda one: one.characters,
        lambda one: one.words,
    )
    return Table(
        "What was measured on; long texts are divided into documents of 64 KiB",
        ("source", "files", "documents", "bytes", "characters", "words"),
        tuple(
            (row.name, f"{row.files:,}", *(f"{fact(row.tokenizers[0]):,}" for fact in facts))
            for row in rows_of(evaluation)
        ),
        frozenset(range(1, 6)),
    )


def _tokenizers(evaluation: Evaluation) -> Table:
    return Table(
        "The tokenizers",
        ("tokenizer", "vocabulary", "never produced"),
        tuple(
            (
                one.name,
                f"{one.vocabulary:,}",
                "not byte-level" if one.never_produced is None else f"{len(one.never_produced):,}",
            )
            for one in evaluation.tokenizers
        ),
        frozenset({1, 2}),
    )


def _shown(found: Ratio | float | None, matrix: Matrix) -> str:
    if isinstance(found, Ratio):
        value = _number(found.value, matrix)
        if found.value is None or found.high is None:
            return value
        return f"{value} ± {_number(found.high - found.value, matrix)}"
    return _number(found, matrix)


def _number(value: float | None, matrix: Matrix) -> str:
    if value is None:
        return "none"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{100 * value:.2f} %" if matrix.percent else f"{value:.3f}"
