"""What the queue costs: CPU seconds of a training with workers, beside the same in one process."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.parts.whole import train_once
from benchmarks.report import table
from benchmarks.rounds import Results, alternate
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
        _measure(corpus, settings, results)
    return results


def _measure(corpus: Corpus, settings: Settings, results: Results) -> None:
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
        limit = 5.0 if corpus.size >= 3e8 else 8.0
        share = 100 * (whole - without) / whole
        results.notes.append(at_most(f"{case}: the queue's share of CPU time", share, limit, " %"))
