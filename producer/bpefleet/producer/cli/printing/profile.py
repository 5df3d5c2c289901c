"""Prints where a run's time went."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

import click

from bpefleet.producer.observing.chunk_times import WORK
from bpefleet.producer.reports.profile import Profile, profile
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.process.text import json_text, printable
from bpefleet.shared.wire.kinds import COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.observing.chunk_times import ChunkTime, StageTime
    from bpefleet.producer.reports.profile import WorkerTime

_SHOWN: Final = 5
_IDLE: Final = 0.5
"""Fewer workers are advised if they were busy for less than this share of the time."""
_SHORT: Final = 0.5
"""The fewest seconds that a chunk should take: handing it over takes some hundredths."""
_ONE_LINE: Final = {10: r"\n"}


def show_profile(path: Path, *, as_json: bool) -> None:
    """Print the profile of the run in a directory.

    Raises:
        OutputError: The directory cannot be read.
    """
    found = profile(RunDirectory.open(path))
    if as_json:
        click.echo(json_text(found.to_json()))
    else:
        click.echo("\n".join(lines(found)))


def lines(found: Profile) -> Iterator[str]:
    """A profile in words."""
    merged = f", merged from the counts of {found.counts_of}" if found.counts_of else ""
    yield _plain(f"run {found.run} ({found.name}): {found.bytes / 1e6:,.1f} MB{merged}")
    if found.stages:
        yield from _stages(found)
    elif found.kind != COUNT.name:
        yield "of a run that trains nothing only the times of its chunks are kept"
    else:
        yield "not finished: only what was counted is known"
    if not found.chunks:
        yield "no stage times of chunks are in its history"
        return
    yield from _counting(found)
    yield from _workers(found)
    slow = [chunk for chunk in found.chunks if chunk.reasons]
    yield f"slowest chunks (median {found.rate / 1e6:.1f} MB/s)" if slow else "no chunk was slow"
    for chunk in slow[:_SHOWN]:
        yield from _chunk(chunk)


def _stages(found: Profile) -> Iterator[str]:
    whole = sum(stage.seconds for stage in found.stages)
    yield f"stages, {whole:.2f} s in all"
    for stage in found.stages:
        yield _line(stage, whole)


def _counting(found: Profile) -> Iterator[str]:
    by_name = {stage.name: stage for stage in found.counting}
    work = sum(by_name[name].seconds for name in WORK)
    unknown = f"; {found.unknown} more have none" if found.unknown else ""
    yield f"{found.kind} by stage, {work:.2f} s of {len(found.chunks):,} chunks{unknown}"
    for name in WORK:
        yield _line(by_name[name], work)
    if fold := by_name["fold"].seconds:  # else unknown
        yield f"  {'fold':<10} {fold:9.2f} s  meanwhile, in the producer"
    yield f"  {'queue':<10} {by_name['queue'].seconds:9.2f} s  waiting while others were counted"


def _line(stage: StageTime, whole: float) -> str:
    share = 100 * stage.seconds / whole if whole else 0.0
    peak = f"  {stage.peak_rss / 2**20:8,.0f} MiB at its peak" if stage.peak_rss else ""
    return f"  {stage.name:<10} {stage.seconds:9.2f} s {share:5.1f} %{peak}"


def _workers(found: Profile) -> Iterator[str]:
    busy = f", busy {100 * found.busy:.0f} % of the count stage" if found.busy is not None else ""
    yield f"{len(found.workers)} workers{busy}"
    for worker in found.workers:
        yield _worker(worker)
    if found.busy is not None and found.busy < _IDLE:
        yield f"  hint: {_advice(found)}"


def _advice(found: Profile) -> str:
    """What keeps workers from being busy, as far as the chunks' times show it."""
    if len(found.chunks) < 2 * len(found.workers):
        return "there were too few chunks for so many workers: use fewer, or smaller chunks"
    usual = median(chunk.seconds for chunk in found.chunks)
    if usual < _SHORT:
        return f"a chunk took {usual:.2f} s, which is less than passing it on: use larger chunks"
    return "chunks came too slowly: look at the fold of the stages above, and at Redis"


def _worker(worker: WorkerTime) -> str:
    rate = f", {worker.rate / 1e6:.1f} MB/s" if worker.seconds else ""
    return (
        f"  {_plain(worker.name)}: {worker.chunks:,} chunks, {worker.bytes / 1e6:,.1f} MB in "
        f"{worker.seconds:.2f} s{rate}, {worker.peak_rss / 2**20:,.0f} MiB at the peak"
    )


def _chunk(chunk: ChunkTime) -> Iterator[str]:
    rate = f" ({chunk.bytes / chunk.seconds / 1e6:.1f} MB/s)" if chunk.seconds else ""
    yield (
        f"  {chunk.chunk}: {_plain(chunk.what)}: {chunk.seconds:.2f} s{rate} on "
        f"{_plain(chunk.worker)}"
    )
    for reason in chunk.reasons:
        yield f"      {reason}"


def _plain(text: str) -> str:
    return printable(text).translate(_ONE_LINE)
