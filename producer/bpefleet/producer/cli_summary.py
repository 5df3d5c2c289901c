"""What the commands print of a finished run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import orjson

from bpefleet.shared.text import printable

if TYPE_CHECKING:
    from bpefleet.producer.run import RunResult


def summarize(result: RunResult, *, as_json: bool) -> None:
    """Print a run's result, for people or as JSON."""
    if as_json:
        summary = {"directory": str(result.directory), **result.manifest}
        click.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2))
        return
    totals, stages = result.manifest["totals"], result.manifest["stages"]
    counting = f"counted in {stages['count']['seconds']:.1f} s, " if "count" in stages else ""
    click.echo(
        f"{printable(str(result.directory))}: {totals['vocab_size']:,} tokens of "
        f"{totals['bytes']:,} bytes "
        f"({totals['pretokens']:,} pre-tokens, {totals['unique_pretokens']:,} unique); "
        f"{counting}merged in {stages['merge']['seconds']:.1f} s"
    )
