"""What the commands print of a finished run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from bpefleet.producer.cli.printing import encoded
from bpefleet.producer.cli.printing.mixture_lines import lines_of
from bpefleet.shared.process.amounts import clock, several, size
from bpefleet.shared.process.text import json_text, line
from bpefleet.shared.wire.encoding import MEASURED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult
    from bpefleet.producer.store.manifest import Manifest
    from bpefleet.producer.store.stage import Took

_NAMES: Final = {"artifacts": "write"}
"""Stages that are shown by another name than in the manifest."""
_WHOLE: Final = "tokenizer.json"
_LONG: Final = 100.0
"""From so many seconds on, a time is shown as h:mm:ss."""
_SHOWN: Final = 40
"""The most characters of a token that are shown."""


def summarize(result: RunResult, *, as_json: bool) -> None:
    """Print a run's result, for people or as JSON."""
    if as_json:
        summary = {"directory": str(result.directory), **result.manifest}
        click.echo(json_text(summary))
        return
    click.echo("\n".join(map(line, lines(result))))


def summarize_any(result: RunResult | EncodeResult, *, as_json: bool) -> None:
    """Print the result of a run of any kind."""
    from bpefleet.producer.run.ending.outcome import EncodeResult  # noqa: PLC0415  --help stays quick

    if isinstance(result, EncodeResult) and result.index.format == MEASURED:
        from bpefleet.producer.api.evaluating import evaluation_of  # noqa: PLC0415  likewise
        from bpefleet.producer.cli.printing import evaluation  # noqa: PLC0415  likewise

        evaluation.show(evaluation_of(result.directory), None, as_json=as_json)
    elif isinstance(result, EncodeResult):
        encoded.summarize(result, as_json=as_json)
    else:
        summarize(result, as_json=as_json)


def lines(result: RunResult) -> Iterator[str]:
    """A run's result in words."""
    manifest = result.trained
    totals = manifest.totals
    yield (
        f"{result.directory}: {totals.vocab_size:,} tokens, learned from "
        f"{size(totals.bytes)} of text ({totals.pretokens:,} pre-tokens, "
        f"{totals.unique_pretokens:,} different)"
    )
    yield from (f"  source  {line}" for line in lines_of(manifest.mixture))
    yield f"  time    {_times(result)}"
    yield f"  memory  {_memory(manifest.stages)} at the peak"
    yield f"  tokens  {'; '.join(_tokens(manifest))}"
    yield f"  files   {'; '.join(_files(result))}"


def _times(result: RunResult) -> str:
    stages = {_NAMES.get(name, name): took.seconds for name, took in result.trained.stages.items()}
    if result.report is not None:
        stages["report"] = result.report_seconds
    told = ", ".join(f"{name} {_lasting(seconds)}" for name, seconds in stages.items())
    return f"{_lasting(result.seconds)}: {told}"


def _lasting(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _LONG else clock(seconds)


def _memory(stages: dict[str, Took]) -> str:
    """The greatest peak of each kind of process. They do not all run at the same time."""
    peaks = {name: took.peak_rss for name, took in stages.items()}
    here = max((peaks[name] for name in ("plan", "spool", "count") if name in peaks), default=0)
    trainer = max(peaks[name] for name in ("fold", "merge", "artifacts") if name in peaks)
    counting = stages.get("count")
    if counting is not None and counting.worker_seconds is None:  # all in one process
        return _mib(max(here, trainer))
    worker = counting.worker_peak_rss if counting is not None else None
    told = {"producer": here, "worker": worker, "trainer": trainer}
    return ", ".join(f"{name} {_mib(peak)}" for name, peak in told.items() if peak)


def _mib(peak: int) -> str:
    return f"{peak / 2**20:,.0f} MiB"


def _tokens(manifest: Manifest) -> Iterator[str]:
    if rate := manifest.totals.bytes_per_token:
        yield f"{rate:.2f} bytes per token on the whole corpus"
    if longest := manifest.longest_token:
        yield f"the longest has {several(longest.bytes, 'byte')}: {_spelled(longest.text)}"


def _spelled(text: str) -> str:
    """A token as a literal; a repeated character only once, with its number."""
    if len(text) > 1 and len(set(text)) == 1:
        return f"{text[0]!r} × {len(text)}"
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _files(result: RunResult) -> Iterator[str]:
    files = result.trained.files
    others = len(files) - 1
    name = _WHOLE if _WHOLE in files else min(files)
    yield f"{result.directory / name}" + (f" and {others} others" if others else "")
    if result.report is not None:
        yield f"report: {result.report}"
