"""A tiny text: what it costs to start, with the server and without.

133 kB and a vocabulary of 500 are the size of a well-known exercise, Stanford's CS336, whose test
wants an answer in 1.5 s. Beside it, what Python and the server need to start and do nothing.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_command, run_task
from benchmarks.parts.whole import train_once
from benchmarks.report import table
from benchmarks.settings import our_task
from benchmarks.targets import at_most

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings
    from benchmarks.task import Task

_SIZE: Final = 133_000
_MERGES: Final = 500 - 257
_SERVER: Final = "from bpefleet.producer.fleet.server import EmbeddedServer as S\nwith S(): pass"
_FLOORS: Final = {
    "start Python": "pass",
    "import bpefleet.producer": "import bpefleet.producer",
    "start and stop the server": _SERVER,
}
_COMMAND: Final = "whole command"


def run(settings: Settings) -> Results:
    """The file given, or the beginning of the standard library's sources."""
    corpora = settings.corpora.select() if settings.corpora.files else []
    corpus = corpora[0] if corpora else settings.corpora.library(_SIZE)
    results = settings.results_of("tiny", [corpus])
    case = f"{corpus.name} {settings.pattern}"
    alternate(results, case, _runners(case, corpus, settings), settings.rounds)
    print(table(results, _COMMAND, case=case))
    for label, limit in ((_COMMAND, 1.0), (ours.CALL, 0.15)):
        if runs := results.of(case, label):
            seconds = median(run.wall() for run in runs)
            results.notes.append(at_most(f"{case}: {label}", seconds, limit, " s"))
    return results


def _runners(case: str, corpus: Corpus, settings: Settings) -> dict[str, partial[Measurement]]:
    train = partial(train_once, case, corpus, settings, merges=_MERGES)
    cores = settings.cores
    task = replace(our_task(corpus.files, settings.pattern, _MERGES), trainer=ours.CALL)
    in_process = f"{_COMMAND}, --workers 0"
    return {
        _COMMAND: partial(train, workers=cores, label=_COMMAND),
        in_process: partial(train, workers=0, label=in_process),
        ours.CALL: partial(_call, case, replace(task, threads=cores)),
        **{
            label: partial(run_command, case, label, [sys.executable, "-c", program], cores=cores)
            for label, program in _FLOORS.items()
        },
    }


def _call(case: str, task: Task) -> Measurement:
    run = run_task(case, task)
    lap = run.laps["train"]
    return replace(run, usage=replace(run.usage, wall=lap.wall, cpu=lap.cpu))
