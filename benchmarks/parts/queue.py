"""What the queue costs: CPU seconds of a training with workers, beside the same in one process.

Twice: where everything is up (`steady`), which is the cost of splitting, enqueueing, RQ, transfer
and folding; and for the whole command, which also starts a server, workers and a trainer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.measuring import steady
from benchmarks.measuring.rounds import Results, alternate, run_task
from benchmarks.parts.whole import train_once
from benchmarks.report import table
from benchmarks.settings import our_task
from benchmarks.targets import at_most

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_IN_PROCESS = "in process"


def run(settings: Settings) -> Results:
    """English, alone and with more of it; any file given."""
    corpora = [
        *settings.corpora.select("en_100MB"),
        *settings.corpora.together("en_100MB", "en_300MB"),
    ]
    results = settings.results_of("queue", corpora)
    for corpus in corpora:
        _steady(corpus, settings, results)
        _whole(corpus, settings, results)
    return results


def _steady(corpus: Corpus, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}, all up"
    task = replace(
        our_task(corpus.files, settings.pattern, settings.merges), threads=settings.cores
    )
    names = (steady.IN_PROCESS, steady.QUEUED)
    runners = {name: partial(run_task, case, replace(task, trainer=name)) for name in names}
    alternate(results, case, runners, settings.rounds)
    for stage in ("count", "merge"):
        print(table(results, steady.QUEUED, stage=stage, size=corpus.size, case=case))
    if len(results.trainers(case)) == len(runners):
        without, with_it, merging = (
            median(run.cpu(stage) for run in results.of(case, name))
            for name, stage in (
                (steady.IN_PROCESS, "count"),
                (steady.QUEUED, "count"),
                (steady.QUEUED, "merge"),
            )
        )
        limit = 5.0 if corpus.size >= 3e8 else 8.0
        share = 100 * (with_it - without) / (with_it + merging)
        results.notes.append(at_most(f"{case}: the queue's share of CPU time", share, limit, " %"))


def _whole(corpus: Corpus, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}"
    queued = f"{settings.cores} workers"
    train = partial(train_once, case, corpus, settings, merges=settings.merges)
    runners = {
        _IN_PROCESS: partial(train, workers=0, label=_IN_PROCESS),
        queued: partial(train, workers=settings.cores, label=queued),
    }
    alternate(results, case, runners, settings.rounds)
    print(table(results, queued, size=corpus.size, case=case))
    if len(results.trainers(case)) == len(runners):
        without, whole = (
            median(run.cpu() for run in results.of(case, name)) for name in (_IN_PROCESS, queued)
        )
        share = 100 * (whole - without) / whole
        results.notes.append(
            f"{case}: with all that workers bring along, starts included: {share:.0f} %"
        )
