"""What the commands print of a finished run that encoded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.process.text import json_text, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.api.token_counts import TokenCounts
    from bpefleet.producer.run.ending.outcome import EncodeResult


def summarize(result: EncodeResult, *, as_json: bool) -> None:
    """Print a run's result, for people or as JSON."""
    if as_json:
        told = {"directory": str(result.directory), "place": result.place}
        click.echo(json_text(told | result.index.to_json()))
        return
    click.echo("\n".join(map(line, _lines(result))))


def _lines(result: EncodeResult) -> Iterator[str]:
    index = result.index
    files = [file for shard in index.shards for file in shard.files]
    rate = f", {index.bytes / index.tokens:.2f} bytes per token" if index.tokens else ""
    yield (
        f"{result.place}: {index.tokens:,} tokens in {several(index.documents, 'document')}, "
        f"of {size(index.bytes)} of text{rate}"
    )
    yield f"  time    {result.seconds:.1f} s"
    many = several(len(index.shards), "shard")
    yield f"  shards  {many}, {index.format}: {', '.join(file.name for file in files[:2])}" + (
        f" and {len(files) - 2} more files" if len(files) > 2 else ""  # noqa: PLR2004
    )


def show_counts(counts: list[TokenCounts], *, as_json: bool) -> None:
    """Print how many tokens a corpus has, for people or as JSON."""
    if as_json:
        click.echo(json_text([each.to_json() for each in counts]))
        return
    for each in counts:
        rate = f", {each.bytes / each.tokens:.2f} bytes per token" if each.tokens else ""
        documents = several(each.documents, "document")
        told = f"{each.tokenizer}: {each.tokens:,} tokens in {documents}{rate}"
        click.echo(line(told))
        named = Counter[str]()
        for file in each.files:
            named[file.source] += file.tokens
        if any(named):
            for name, tokens in named.items():
                click.echo(line(f"  {tokens:>15,}  {name}"))
        elif len(each.files) > 1:
            for file in each.files:
                click.echo(line(f"  {file.tokens:>15,}  {file.path}"))
