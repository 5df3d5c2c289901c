"""Prints what came of an evaluation, and writes its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bpefleet.producer.evaluating.page import page_of
from bpefleet.producer.evaluating.tables import tables
from bpefleet.producer.files.atomic import write_atomically
from bpefleet.shared.process.text import json_text, line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.evaluating.evaluate import Evaluation
    from bpefleet.producer.reports.document import Table


def show(evaluation: Evaluation, html: Path | None, *, as_json: bool) -> None:
    """Print an evaluation, for people or as JSON.

    Args:
        evaluation: What came of it.
        html: Where to write its page; None for none.
        as_json: Whether to print JSON.

    Raises:
        OutputError: The page cannot be written.
    """
    if html is not None:
        write_atomically(html, page_of(evaluation).encode(errors="backslashreplace"))
    if as_json:
        click.echo(json_text(evaluation.to_json()))
        return
    for at, table in enumerate(tables(evaluation)):
        click.echo("\n" * bool(at) + "\n".join(_lines(table)))
    if html is not None:
        click.echo(f"\n{line(str(html))}")


def _lines(table: Table) -> Iterator[str]:
    """A table with its columns below each other."""
    rows = [[line(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield table.caption
    for row in rows:
        cells = (
            cell.rjust(width) if at in table.numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  " + "  ".join(cells).rstrip()
