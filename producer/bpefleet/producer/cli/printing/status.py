"""Shows runs to people: how far one is, which chunks failed, each attempt at a chunk."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bpefleet.producer.cli.printing.mixture_lines import lines_of
from bpefleet.producer.cli.printing.status_times import StatusTimes
from bpefleet.producer.observing.snapshot import failures, latest_of, latest_snapshot
from bpefleet.producer.store.directory import PLAN, RunDirectory
from bpefleet.producer.store.history import read_attempts
from bpefleet.producer.store.opening import read_settled
from bpefleet.shared.errors import QueueError, UsageError
from bpefleet.shared.process.amounts import several
from bpefleet.shared.process.text import json_text, line, printable
from bpefleet.shared.wire.keys import status_key
from bpefleet.shared.wire.kinds import KINDS
from bpefleet.shared.wire.shown.status import DONE, ENCODE, EVALUATE, MERGE, WRITE, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.store.history import Attempt

_SHOWN = 10
_MINUTE = 60.0
_LONGEST = 1e9
"""The longest time that is shown, in seconds: 30 years, which a date can hold."""


def show(run: str, redis: str | None, *, as_json: bool, watch: bool) -> None:
    """Print how far a run is, once or until it ends.

    Raises:
        UsageError: There is no directory of that name, and no Redis to ask.
        BpefleetError: It cannot be read.
    """
    finder, times = Finder(run, redis), StatusTimes(run, redis)
    while True:
        snapshot = finder.find()
        if as_json:
            told = snapshot.to_json() | times.to_json()
            click.echo(json_text(told))
        else:
            stages = times.told()
            if watch:
                click.clear()
            click.echo("\n".join(map(line, lines(snapshot, stages))))
        if not (watch and snapshot.producer):
            return
        time.sleep(1)


class Finder:
    """Finds the latest snapshot of a run, again and again: its plan, as it stays, is read once."""

    def __init__(self, run: str, redis: str | None) -> None:
        """Prepare to look for a run, named by its directory or by its id and a Redis."""
        self._run = run
        self._redis = redis
        self._directory: RunDirectory | None = None
        self._seen: tuple[int, int] | None = None

    def find(self) -> Snapshot:
        """The snapshot as it is now.

        Raises:
            UsageError: There is no directory of that name, and no Redis to ask.
            QueueError: Redis knows no such run.
            OutputError: The directory cannot be read.
        """
        if Path(self._run).exists():
            return self._in(Path(self._run))
        if self._redis is None:
            raise UsageError(
                f"{self._run}: no such directory",
                hint="a run's id needs the Redis it uses: --redis URL",
            )
        from bpefleet.producer.observing.posting import read  # noqa: PLC0415  redis is slow to import

        if (found := read(self._redis, self._run, status_key(self._run), Snapshot)) is None:
            raise QueueError(f"no run {self._run} is under way there")
        return found

    def _in(self, path: Path) -> Snapshot:
        if not os.path.lexists(path / PLAN):
            return latest_of(path)  # what it counts may still arrive
        return latest_snapshot(self._open(path))

    def _open(self, path: Path) -> RunDirectory:
        seen = None
        with suppress(OSError):
            plan = (path / PLAN).stat()
            seen = plan.st_ino, plan.st_mtime_ns
        if self._directory is None or seen is None or seen != self._seen:  # or another run's
            self._directory = RunDirectory.open(path)
            self._seen = seen
        return self._directory


def lines(now: Snapshot, times: str = "") -> Iterable[str]:
    """A snapshot in words, with the seconds by stage."""
    yield f"run {now.run} ({now.name}): {now.stage}" + (f", {now.producer}" if now.producer else "")
    if now.redis_away:
        away = timedelta(seconds=round(min(max(0.0, now.updated - now.redis_away), _LONGEST)))
        yield f"  redis    has not answered for {away}; the run waits for it"
    yield f"  {_when(now)}"
    if now.arriving is not None:
        documents, many, pace = now.arriving.documents, now.arriving.bytes, now.arriving.rate
        said = f"{documents:,} documents, " if documents else ""
        yield f"  arrived  {said}{_size(many)} so far, {_size(round(pace))}/s"
    share = 100 * now.bytes_counted / now.bytes if now.bytes else 100
    about, done = "about " if now.at_chunks else "", KINDS[now.kind].done
    of_all = "" if now.arriving else f" of {_size(now.bytes)}"
    yield (
        f"  text     {_size(now.bytes_counted)}{of_all} {done}"
        + ("" if now.arriving else f" ({share:.1f} %)")
        + (f", {about}{now.unique:,} different pre-tokens" if now.unique else "")
    )
    yield (
        f"  chunks   {now.counted:,} of {now.chunks:,} {done}, {now.all_running:,} running, "
        f"{now.queued:,} queued, {now.waiting:,} waiting, {now.all_failed:,} failed"
        + (f"; {now.retries} retries" if now.retries else "")
    )
    yield from _exchanging(now)
    yield from (f"  source   {line}" for line in lines_of(now.sources))
    yield from _stage(now)
    yield from _examples(now)
    if times:
        yield f"  time     {times}"
    for running in now.running[:_SHOWN]:
        where = f"{printable(running.what)} on {printable(running.worker)}"
        yield f"  running  {running.chunk}: {where}"
    for failure in now.failed[:_SHOWN]:
        first = failure.error.partition("\n")[0]
        yield f"  failed   {failure.chunk}: {printable(failure.what)}: {printable(first)}"
    if (more := now.all_failed - _SHOWN) > 0:
        yield f"           and {more:,} more"
    if not now.producer and now.counted < now.chunks and now.stage != DONE:
        word = "retry" if now.all_failed else "resume"
        yield f"  go on    bpefleet {word} {now.directory}"


def _exchanging(now: Snapshot) -> Iterable[str]:
    if there := now.exchange:
        yield (
            f"  sums     {there.made:,} of {there.sums:,} made in the exchange; {there.parts:,} "
            f"parts are there, {_size(there.bytes)}"
        )
    if now.full and now.producer:
        long = _so_far(now.full_since, now)
        yield (
            f"  full     the exchange has no room for {now.full:,} of them{long}: "
            "make room, and the run goes on by itself; or stop it (Ctrl-C), and resume it later"
        )
    if now.slow and now.producer:
        yield (
            f"  slow     leaving counts in the exchange takes {several(now.slow, 'worker')} long"
            f"{_so_far(now.slow_since, now)}: see to its disk, store or network; the run goes on"
        )


def _so_far(since: float, now: Snapshot) -> str:
    return f", {_span(now.updated - since)} so far" if since else ""


def _stage(now: Snapshot) -> Iterable[str]:
    """What there is to say of the stage that a run is in."""
    if now.kind in (ENCODE, EVALUATE):
        yield f"  tokens   {now.tokens:,} in {now.documents:,} documents"
    if now.at_chunks:
        yield f"  rate     {_size(round(now.rate))}/s{_left(now)}; {now.workers} workers"
    if now.stage == WRITE:
        yield f"  shards   {now.written:,} tokens written{_left(now)}"
    if now.stage == MERGE:
        rate = f", {now.merging.rate:,.0f}/s" if now.merging else ""
        yield f"  merges   {now.merges_made:,} of {now.merges:,}{rate}{_left(now)}"


def _when(now: Snapshot) -> str:
    """When the run began and ended, and how long its last session took or has taken."""
    begun = f"started  {_date(now.planned if now.resumed else now.started)}"
    session = f"; this session {_date(now.started)}" if now.resumed else ""
    if now.ended is None:
        return f"{begun}{session}, {_span(now.updated - now.started)} ago"
    last = ", its last session" if now.resumed else ","
    word = "ended" if now.stage == DONE else "stopped"
    return f"{begun}, {word} {_date(now.ended)}{last} took {_span(now.ended - now.started)}"


def _span(seconds: float) -> str:
    seconds = max(0.0, min(seconds, _LONGEST))
    return f"{seconds:.1f} s" if seconds < _MINUTE else str(timedelta(seconds=round(seconds)))


def _left(now: Snapshot) -> str:
    return "" if now.eta is None else f", {_span(now.eta)} left"


def _examples(now: Snapshot) -> Iterable[str]:
    if now.merging and (tokens := now.merging.tokens):
        for name, found in (("latest", tokens.latest), ("longest", tokens.longest)):
            shown = ", ".join(f"'{printable(token.text)}'" for token in found)
            yield f"  {name:<8} {shown}"


def show_failed(path: Path, *, as_json: bool) -> None:
    """Print the failed chunks, a line each.

    Raises:
        OutputError: The directory cannot be read.
    """
    directory = RunDirectory.open(path)
    counted, *_ = read_settled(directory)
    failed = failures(directory, counted)
    if as_json:
        click.echo(json_text([f.to_json() for f in failed]))
        return
    for failure in failed:
        attempts = f"{failure.attempts} attempt{'s' if failure.attempts > 1 else ''}"
        where = f", last on {failure.worker}" if failure.worker else ""
        error = printable(failure.error.partition("\n")[0])
        places = ", ".join(
            f"{printable(s.path)} bytes {s.start}-{s.end}"
            for s in directory.plan.spec(failure.chunk).segments[:3]
        )
        more = len(directory.plan.chunks[failure.chunk]) - 3
        places += f" and {more} more" if more > 0 else ""
        click.echo(line(f"{failure.chunk}: {places}: {attempts}{where}: {error}"))


def show_attempts(path: Path, chunk: int, *, as_json: bool) -> None:
    """Print all attempts at a chunk, with their tracebacks and the last lines of their logs.

    Raises:
        UsageError: The run has no such chunk.
        OutputError: The directory cannot be read.
    """
    directory = RunDirectory.open(path)
    if chunk >= directory.plan.chunk_count:
        raise UsageError(f"{path} has chunks 0 to {directory.plan.chunk_count - 1}")
    attempts = read_attempts(path, directory.plan.kind.name).get(chunk, [])
    if as_json:
        click.echo(json_text([a.to_json() for a in attempts]))
        return
    click.echo(f"chunk {chunk}: {printable(directory.plan.describe(chunk))}")
    for number, attempt in enumerate(attempts, 1):
        click.echo(f"attempt {number}: {_told(attempt)}")
        for each in attempt.traceback.splitlines():
            click.echo(f"    {printable(each)}")
        for each in attempt.log.splitlines():
            click.echo(f"    log: {printable(each)}")


def _told(attempt: Attempt) -> str:
    when = _date(attempt.ended)
    took = f" after {attempt.ended - attempt.started:.1f} s" if attempt.started else ""
    peak = f", {attempt.peak_rss / 2**20:.0f} MiB at its peak" if attempt.peak_rss else ""
    worker = f" on {printable(attempt.worker)}" if attempt.worker else ""
    what = f": {printable(attempt.error)}" if attempt.error else ""
    return f"{attempt.outcome} {when}{took}{worker}{peak}{what}"


def _date(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # a worker's clock, or a forged event
        return "at no known time"


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):  # noqa: B007  the last one found is used
        if size < 1000:  # noqa: PLR2004
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
