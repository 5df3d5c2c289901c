"""An evaluation as one page that loads nothing, in the style of a run's report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.evaluating.tables import rows_of, tables
from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Report
from bpefleet.producer.reports.render import page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.evaluating.evaluate import Evaluation
    from bpefleet.producer.reports.document import Part

_CHARTS: Final = 12
"""Sources that have a chart each, at the most: the tables have all."""


def page_of(evaluation: Evaluation) -> str:
    """The page."""
    names = ", ".join(one.name for one in evaluation.tokenizers)
    return page(Report(names, tuple(_parts(evaluation)), of="Evaluation of"))


def _parts(evaluation: Evaluation) -> Iterator[Part]:
    first, *others = tables(evaluation)
    yield Heading("Compression")
    yield Paragraph(
        "± is half of a 95 % interval over documents, by the ratio estimator: what other text of "
        "the same kind would give."
    )
    yield first
    labels = tuple(one.name for one in evaluation.tokenizers)
    for row in rows_of(evaluation)[-_CHARTS:]:
        values = (one.bytes_per_token.value or 0.0 for one in row.tokenizers)
        yield Chart(
            f"Bytes per token: {row.name}",
            "bars",
            values=tuple(values),
            unit="bytes per token",
            x="tokenizer",
            labels=labels,
        )
    for table in others:
        yield Heading(table.caption)
        yield table
