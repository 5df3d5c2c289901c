"""From one worker to two: seconds of the count stage, as the run's own manifest tells them.

The workers are up before the run begins, as in a fleet: their start is no part of counting. Beside
them two processes are measured that only count, with no queue: what the machine itself allows.
Two chunk sizes are tried: the default, and a small one, at which jobs are many and what RQ costs
for each of them shows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_command
from benchmarks.measuring.stopwatch import Lap
from benchmarks.measuring.usage import ROOT
from benchmarks.report import ratio, table
from benchmarks.settings import our_task
from benchmarks.targets import at_least

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_FEW_MERGES: Final = 243
_TARGET: Final = 1.9


def run(settings: Settings) -> Results:
    """English, alone and with more of it; any file given."""
    corpora = [
        *settings.corpora.select("en_100MB"),
        *settings.corpora.together("en_100MB", "en_300MB"),
    ]
    results = settings.results_of("scaling", corpora)
    for corpus in corpora:
        results.notes.append(_bare(corpus, settings))
        for more in ((), ("--chunk-size", "8MiB")):
            _measure(corpus, more, settings, results)
    return results


def _measure(corpus: Corpus, more: tuple[str, ...], settings: Settings, results: Results) -> None:
    case = " ".join([corpus.name, settings.pattern, *more])
    train = partial(_count, case, corpus, settings, more)
    one, two = "1 worker", "2 workers"
    runners = {one: partial(train, 1, one), two: partial(train, 2, two)}
    alternate(results, case, runners, settings.rounds)
    print(table(results, two, stage="count", size=corpus.size, case=case))
    if found := ratio(results, case, one, two, "count"):
        results.notes.append(at_least(f"{case}: 1 → 2 workers, count", found.wall, _TARGET, "×"))


def _count(
    case: str, corpus: Corpus, settings: Settings, more: tuple[str, ...], workers: int, label: str
) -> Measurement:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        train = ours.command(
            corpus.files, out, merges=_FEW_MERGES, pattern=settings.pattern, workers=0, more=more
        )
        command = [sys.executable, "-m", "benchmarks.measuring.fleet", str(workers), *train]
        run = run_command(case, label, command, cores=settings.cores)
        stages = ours.stages_in(out)
    # Nobody tells the stage's CPU time; with so few merges, it is nearly all of the run's.
    return replace(run, laps={"count": Lap(stages["count"]["seconds"], run.cpu())})


def _bare(corpus: Corpus, settings: Settings) -> str:
    """How much faster two processes are than one that only count text in memory: one line."""
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(settings.rounds):
        for processes, seconds in times.items():
            seconds.append(_together(corpus, settings, processes))
    gain = 2 * median(times[1]) / median(times[2])
    return f"{corpus.name} {settings.pattern}: two processes that only count: {gain:.2f}× one"


def _together(corpus: Corpus, settings: Settings, processes: int) -> float:
    """Seconds until so many processes, at once, have each counted all of the text."""
    task = our_task(corpus.files, settings.pattern, 0)
    with TemporaryDirectory() as folder:
        results = [Path(folder) / str(number) for number in range(processes)]
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.measuring.child", task.to_json(), str(result)],
                cwd=ROOT,
            )
            for result in results
        ]
        codes = [child.wait() for child in children]
        if any(codes):
            raise ChildProcessError("counting failed")
        laps = [json.loads(result.read_text("utf-8"))["laps"]["count"] for result in results]
        return max(float(lap["wall"]) for lap in laps)
