"""What being watched costs a run: its seconds and its own CPU time, beside the same run unwatched.

Watched means: a dashboard serves, its page for the run is followed, Prometheus scrapes it each
second, and `bpefleet status --watch` is open. They are up before the run begins, on the same cores.
The run's own CPU time is that of its producer, trainer, workers and Redis, without those who watch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from benchmarks import ours
from benchmarks.measuring.child import digest
from benchmarks.measuring.rounds import Measurement, Results, alternate, scratch
from benchmarks.measuring.usage import ROOT, CommandFailedError, Usage
from benchmarks.report import ratio, table
from benchmarks.targets import at_most
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.redis.connect import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_ALONE: Final = "alone"
_WATCHED: Final = "watched"
_MOST: Final = 2.0
"""Percent that a watched run may take longer."""

_PATIENCE: Final = 60.0


def run(settings: Settings) -> Results:
    """English, alone and with more of it; any file given."""
    corpora = [
        *settings.corpora.select("en_100MB"),
        *settings.corpora.together("en_100MB", "en_300MB"),
    ]
    results = settings.results_of("watched", corpora)
    for corpus in corpora:
        _measure(corpus, settings, results)
    return results


def _measure(corpus: Corpus, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}"
    train = partial(_train, case, corpus, settings)
    runners = {name: partial(train, name) for name in (_ALONE, _WATCHED)}
    alternate(results, case, runners, settings.rounds)
    print(table(results, _ALONE, size=corpus.size, case=case))
    if len({run.facts["digest"] for run in results.measurements if run.case == case}) > 1:
        results.notes.append(f"{case}: THE TOKENS DIFFER")
    if found := ratio(results, case, _WATCHED, _ALONE):
        for what, value in (("seconds", found.wall), ("own CPU time", found.cpu)):
            more = 100 * (value - 1)
            results.notes.append(at_most(f"{case}: watched, more {what}", more, _MOST, " %"))


def _train(case: str, corpus: Corpus, settings: Settings, name: str) -> Measurement:
    """Run our command once on a fresh server, watched or not.

    Raises:
        CommandFailedError: It ended with an error.
    """
    folder = scratch()
    try:
        with ExitStack() as stack:
            url = stack.enter_context(EmbeddedServer()).url
            out, seen = folder / "out", None
            if name == _WATCHED:
                seen = stack.enter_context(_onlookers(url, out))
            command = ours.command(
                corpus.files,
                out,
                merges=settings.merges,
                pattern=settings.pattern,
                workers=settings.cores,
                more=("--redis", url, "--no-report"),
            )
            usage = _used(command, url)
            facts: dict[str, Any] = {"digest": digest(ours.tokens_in(out)), **(seen or dict)()}
            return Measurement(case, name, usage, facts=facts)
    finally:
        shutil.rmtree(folder)


def _used(command: list[str], url: str) -> Usage:
    """What a command takes, its children and the server's CPU time included; no memory."""
    with connect(url) as connection:
        before = _server_seconds(connection.info("cpu"))
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, took = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise CommandFailedError(f"exit code {process.returncode}")
        server = _server_seconds(connection.info("cpu")) - before
    return Usage(wall, took.ru_utime + took.ru_stime + server, 0, 0)


def _server_seconds(info: dict[str, Any]) -> float:
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


@contextmanager
def _onlookers(url: str, out: Path) -> Iterator[Any]:
    """A dashboard and who looks at it; call what is yielded after the run: how much was seen."""
    dashboard = [sys.executable, "-m", "bpefleet.dashboard", "--redis", url, "--port", "0"]
    with subprocess.Popen(dashboard, stderr=subprocess.PIPE, text=True) as board:
        try:
            page = _address(board)
            command = [sys.executable, "-m", "benchmarks.measuring.onlooker", page, str(out)]
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as onlooker:
                try:
                    if onlooker.stdout is None or onlooker.stdout.readline() != "ready\n":
                        raise CommandFailedError("the onlooker does not start")
                    yield lambda: json.loads(onlooker.communicate(timeout=_PATIENCE)[0])
                finally:
                    onlooker.kill()
        finally:
            board.kill()


def _address(board: subprocess.Popen[str]) -> str:
    for line in board.stderr or ():
        if found := re.search(r"open (http://[^/]+)/", line):
            return found[1]
    raise CommandFailedError("the dashboard does not start")
